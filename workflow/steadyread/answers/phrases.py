"""The parser's tables: what people and models say around an answer. Patterns match case-insensitively."""

from __future__ import annotations

# Reasoning that is not the answer: (pattern that opens it, pattern that closes it).
THINKING = (
    (r"<think(?:ing)?>", r"</think(?:ing)?>"),
    (r"<thought>", r"</thought>"),
    (r"<reasoning>", r"</reasoning>"),
    (r"◁think▷", r"◁/think▷"),
    (r"<unused94>", r"<unused95>"),
    (r"<\|channel\|>analysis", r"<\|channel\|>final(?:<\|message\|>)?"),
)

# What marks the final answer; one answer expression must follow, after FILLERS only.
FINAL_MARKERS = (
    r"answer|ans\.?|(?:final|result)(?=\s*:)|prediction|response|assistant|antwort|réponse|respuesta|risposta|resposta|ответ|答案|回答|答え",
    r"(?<!differential )(?:diagnosis|diagnose|impression|conclusion)",
    r"(?:correct|best|right|final|likely) (?:option|choice)",
    r"most likely|likeliest|most probable|most (?:consistent|compatible|in keeping) with",
    r"choose|chose|select|pick|go with|opt for|settle on|lean(?:ing)? towards?|favou?r|vote for",
    r"think|believe|conclude|(?:would|i'd) (?:say|guess|diagnose)",
    r"it is|it's|this is|that is|that's",
    r"actually|wait|correction|i mean|not \w+(?: \w+)? but(?: rather)?",
)

# What turns a marker into something else: "if it is", "I don't think", "not sure it is".
MARKER_VOIDED_BY = (
    r"(?:\b(?:not (?:sure|certain|clear)(?: that)?|unsure|uncertain|if|whether|unless"
    r"|not|never|cannot)|n't)\s+(?:(?:the|that|it|i|say|a|think|believe|choose|would)\s+){0,3}$"
)

# Words that may stand between a marker and the answer.
FILLERS = (
    r"is|ist|est|es|was|be|being|has|have|had|are|would|will|should|must|to|of|for|in|this|these|that|it|it's|case"
    r"|the|an?|die|der|la|el|一|是|为|most|more|very|likely|probable|probably|clearly|therefore|thus|hence|still|now"
    r"|option|choice|letter|answer|antwort|diagnosis|correct|best|final|right|i|we|think|believe|say|either|both"
    r"|consistent|with|single|patient|patient's|image|images|scan|findings|actually|no|wait"
)

# What makes an option the final answer when it follows it: "B is correct".
FINAL_SUFFIX = (
    r"\s+(?:is|are|seems|appears|looks|remains|would be)\s+(?:to be\s+)?(?:(?:the|my|clearly|therefore|also)\s+)*"
    r"(?:(?:most|more|very) (?:likely|probable|plausible|consistent)|likeliest|correct|right|best|favou?red"
    r"|(?:final |correct |likely )?(?:answer|diagnosis|choice|option))\b"
)

# What may follow a bare letter, or a label that is a common word, where it is an answer.
AFTER_LETTER = (
    r"(?!-\w)(?=[^\S\n]*(?:$|\n|[.,:;!?)\]/&+=。，；—–-]|(?:because|since|as|due|given|and|or|und|oder|not|rather|but|instead"
    r"|over|is|are|seems|appears|looks|would|vs|versus)\b))"
)
# What follows a label with which an answer begins.
AFTER_LEADING = r"[^\S\n]*(?:$|[.,:;!?(\[/\n。，；—–-]|(?:because|since|as|due|given|not|rather|instead|over)\b)"

# Between two options where none is chosen.
JOINED = (
    r"\s*(?:,|/|&|\+|\b(?:and|or|und|oder|ou|o|vs\.?|versus)\b)\s*"
    r"(?:(?:an?|the|option|possibly|perhaps|maybe|even|also)\s+)*"
)
CUT_JOIN = r"\s*(?:/|&|\+|\b(?:and|or|vs\.?|versus))\s*$"

# Before a mention within its clause: the option is denied.
NEGATION_BEFORE = (
    r"(?:\b(?:not|no|non|never|neither|nor|without|unlikely|unlike|against|over|than|exclud(?:e|es|ed|ing)"
    r"|rul(?:e|es|ed|ing) out|instead of|rather than|as opposed to|absence of|argues? against|less likely)|n't)[\s-]+"
    r"(?:(?:an?|the|any|to|be|been|of|for|with|in|evidence|signs?|consistent|compatible|typical|suggest(?:ive)?"
    r"|indicative|likely|really|option|diagnosis|answer|either|due)[\s-]+){0,5}$"
)
# Up to a mention: "neither … nor", "if this is …", unless it is the speaker's own "if I had to choose".
NEGATED_CLAUSE = r"\bneither\b|\b(?:if|whether|unless)\s+(?!i\b|forced|pressed|asked)[^,]*$"
# After a mention: the option is denied, or left open by a double negation.
_DENIED = r"(?:unlikely|less likely|improbable|implausible|excluded|ruled out|incorrect|wrong|false|not\b)"
NEGATION_AFTER = (
    r"\s*(?:\s(?:is|are|was|were|seems|appears|looks|has been|have been|can be|could be|would be)\s+"
    rf"(?:(?:also|very|highly|much|therefore|thus|more)\s+)*{_DENIED}"
    r"|\s(?:isn't|aren't|wasn't|doesn't|does not|cannot be|can't be|can not be|could not be)\b"
    r"|\s(?:less likely|unlikely|excluded|ruled out)\b|:\s*(?:no|unlikely|false|incorrect|excluded)\b)"
)

CLAUSE_END = r"[.;!?\n]|,? but\b|\bhowever\b"
CONTRAST = r"\b(?:but|however|yet|nevertheless|though|although|still)\b"
# Between two explicit answers: the second takes the first back.
CORRECTION = (
    r"\b(?:actually|wait|correction|i mean|but|however|although|though|on reflection|on second thought|change"
    r"|instead|sorry)\b"
)

# Ways to say that the evidence does not decide, besides the prompt's synonyms for UNSURE.
UNSURE_PHRASES = (
    r"(?:can(?:no|')t|can not|could not|couldn't|unable to|not able to|not possible to|impossible to)\s+"
    r"(?:be\s+)?(?:(?:reliably|definitively|confidently|clearly)\s+)?"
    r"(?:determined?|tell|say|decided?|distinguish(?:ed)?|differentiated?|establish(?:ed)?|(?:be )?(?:sure|certain))",
    r"(?:insufficient|not enough)\s+(?:information|evidence|data|detail)",
    r"(?:do not|don't) know",
    r"not (?:sure|certain|clear)",
    r"unsure|uncertain|undetermined|undeterminable|indeterminate|inconclusive",
    r"(?:unclear|equivocal)(?=\s*(?:[.,;!]|$|whether\b|which\b|if\b|what\b))",
)

# Ways to decline the task. Declining is not doubting: "cannot provide" here, "cannot determine" above.
_CANNOT = (
    r"(?:can(?:no|')t|can not|could not|couldn't|unable to|won't|will not"
    r"|(?:am|'m|are|is) (?:not able|not qualified|not allowed|not permitted) to)"
)
REFUSALS = (
    rf"{_CANNOT}\s+(?:\w+\s+)?(?:provide|assist|help|offer|give|make|diagnos\w*|interpret|analy[sz]e|view|see|read|access"
    r"|recogni[sz]e|process|answer|comply|fulfil+|do that|comment|evaluate|assess)\b",
    rf"\bas an? (?:ai|artificial intelligence|(?:large )?language model|assistant)\b[^.;!?\n]{{0,120}}{_CANNOT}",
    r"\b(?:do not|don't) have (?:the |any )?(?:ability|capability|access|means) to\b",
    r"\b(?:must|have to|will) decline\b|\bi decline\b|\bdecline to\b",
    r"\bnot qualified to\b|\bagainst (?:my|the) (?:guidelines|polic)",
)
# A referral alone declines, beside a named option it does not.
REFERRALS = (
    r"\b(?:consult|see|seek|contact|speak to|ask)\b[^.;!?\n]{0,120}"
    r"\b(?:doctor|physician|radiologist|professional|provider|specialist|neurologist|oncologist)\b",
)

# Labels that are common words: an answer only where they stand as one, never as a mention.
COMMON_WORDS = frozenset({"yes", "no", "none", "other", "both", "normal"})
# Letters that are English words: before a label they are the article.
ENGLISH_LETTERS = frozenset({"a", "i"})
