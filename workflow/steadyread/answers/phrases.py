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
    r"answer|ans\.?|(?:final|result)(?=\s*:)|prediction|response|assistant|antwort|réponse|respuesta|risposta"
    r"|resposta|ответ|答案|回答|答え",
    r"(?<!differential )(?:diagnosis|diagnose|impression|conclusion)",
    r"(?:correct|best|right|final|likely) (?:option|choice)",
    r"most likely|likeliest|most probable|most (?:consistent|compatible|in keeping) with",
    r"choose|chose|select|pick|go with|opt for|settle on|lean(?:ing)? towards?|favou?r|vote for",
    r"think|believe|conclude|(?:would|i'd) (?:say|guess|diagnose)",
    r"it is|it's|this is|that is|that's",
    r"guess(?:es)?|if (?:forced|pressed|asked|required|pushed|i (?:had|have|must|were)\b)[^.;:!?\n,]{0,40}(?=[,:])",
    r"actually|wait|correction|i mean|not \w+(?: \w+)? but(?: rather)?",
)

# What turns a marker into something else: "if it is", "I don't think", "not sure it is".
MARKER_VOIDED_BY = (
    r"(?:\b(?:not (?:sure|certain|clear)(?: that)?|unsure|uncertain|if|whether|unless"
    r"|not|never|cannot)|n't)[^\S\n]+(?:(?:the|that|it|i|say|a|think|believe|choose|would)[^\S\n]+){0,3}$"
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
    r"\s+instead\b(?! of)|\s+(?:is|are|seems|appears|looks|remains|would be)\s+(?:to be\s+)?(?:(?:the|my"
    r"|clearly|therefore|also|actually|really)\s+)*"
    r"(?:(?:most|more|very) (?:likely|probable|plausible|consistent)|likeliest|correct|right|best|better|favou?red"
    r"|(?:final |correct |likely )?(?:answer|diagnosis|choice|option))\b"
)

# What may follow a bare letter, or a label that is a common word, where it is an answer.
AFTER_LETTER = (
    r"(?!-\w)(?![.;:|\\_]+\w\b)(?=[^\S\n]*(?:$|\n|[.,:;!?()\]/\\&+=|。，；—–-]|(?:because|since|as|due|given|and"
    r"|or|und|oder|not|rather|but|instead|followed|then"
    r"|over|is|are|seems|appears|looks|would|vs|versus)\b))"
)
# What follows a label with which an answer begins.
AFTER_LEADING = r"[^\S\n]*(?:$|[.,:;!?(\[/\n。，；—–-]|(?:because|since|as|due|given|not|rather|instead|over)\b)"

# Between two options where none is chosen.
JOINED = (
    r"\s*(?:[-–—=]+>|→|[,;/\\&+|–—-]|(?=[(\[])|\b(?:and|or|und|oder|ou|o|vs\.?|versus|to|through|plus|with|then"
    r"|but|followed by|as well as)\b)\s*"
    r"(?:(?:an?|the|option|possibly|perhaps|maybe|even|also|then|or|and|alternatively|with|second|next)\s+)*"
)
CUT_JOIN = r"\s*(?:/|&|\+|\b(?:and|or|vs\.?|versus))\s*$"
# Between the parts in which two labels of one stem differ: "grade 2 or 3", "low- or high-grade".
STEM_AFTER = r"\s*\(?(?:[,/&+–—-]|\b(?:or|and|to|through|vs\.?|versus)\b)\s*(?:(?:or|and|even|possibly|maybe)\s+)*(\w+)"
STEM_BEFORE = r"(\w+)-?\s*(?:[,/&+–—-]|\b(?:or|and|to|through|vs\.?|versus)\b)\s*$"
OPEN_ENDED = frozenset({"higher", "lower", "above", "below", "more", "less", "greater", "worse", "beyond", "up"})

# Before a mention within its clause: the option is denied, or named without being chosen.
_ABSENT = (
    r"not|cannot|no|non|never|neither|nor|without|unlikely|improbable|unlike|against|over|than|exclud(?:e|es|ed|ing)"
    r"|rul(?:e|es|ed|ing) out|r/o|hardly|scarcely|barely|instead of|rather than|as opposed to|absence of"
    r"|less \w+|lack(?:s|ing)?(?: of)?"
    r"|free of|reject(?:s|ed|ing)?|den(?:y|ies|ied)|refut(?:e|es|ed)|dismiss(?:es|ed)?|discard(?:s|ed)?"
    r"|eliminat(?:e|es|ed)"
    r"|avoid(?:s|ed|ing)?|negative for|inconsistent|incompatible|atypical|low (?:probability|likelihood"
    r"|suspicion|chance)"
    r"|doubtful|questionable|impossible|except(?: for)?|other than|(?:anything|everything|all) but|apart from"
    r"|fails? to"
)
_OTHERWISE = (
    r"(?:history|remote diagnosis) of|known|prior|previous|previously (?:treated|diagnosed|resected)"
    r"|treated(?: for)?|resected"
    r"|resection of|first|second|third|alternatively?|wrong|incorrect|worst|post|pseudo|anti|pre|status post|s/p"
    r"|follow-?up (?:of|for|after)|referred (?:for|with)"
    r"|in contrast to"
    r"|compared (?:to|with)|(?:differ(?:s|ent)?|distinguish\w*) from"
    r"|such as|e\.g\.,?|for example,?|for instance,?|including|at least|at most|up to|below|above|mimic(?:s|king)?"
    r"|evaluate for|work-?up for"
)
NEGATION_BEFORE = (
    rf"(?:\b(?:{_ABSENT}|{_OTHERWISE})|n't)[\s:-]+"
    r"(?:(?:an?|the|any|to|be|been|of|for|with|in|evidence|signs?|features?|consistent|compatible|typical"
    r"|suggest(?:ive)?"
    r"|indicative|likely|really|option|diagnosis|answer|either|due|choosing|choose|saying|say|show|support"
    r"|as)[\s-]+){0,5}$"
)
# Earlier in the clause: what follows is doubted, called false, supposed, or another's. "If I had to choose" is
# the speaker's own.
_PERSON = (
    r"(?:some(?:one|body)?|any(?:one|body)|everyone|others|people|many|you|they|he|she|critics|skeptics|one"
    r"|(?:an?|the|other|another|some|most|many)\s+(?:\w+\s+){0,2}(?:reader|radiologist|doctor|physician"
    r"|clinician|student"
    r"|model|colleague|person|observer|expert|user)s?)"
)
_SAYS = (
    r"(?:choose|chose|pick|select|say|said|think|thought|argue|answer|suggest|guess|believe|conclude|assume"
    r"|favou?r|opt|go"
    r"|call|consider|claim|diagnose|suspect|mistake|be (?:tempted|inclined))(?:s|d|ed)?"
)
NEGATED_CLAUSE = (
    r"\bneither\b|\b(?:if|unless) (?:it(?:'s| is) )?not\b|\bnot (?:saying|claiming|suggesting|arguing|implying)\b"
    r"|\bdifferential(?: diagnos[ei]s)?\s*(?:of\b|for\b|:|includes?\b)"
    r"|\b(?:unlikely|excluded|ruled out|rejected|negative|absent|against|alternatives?|options|choices)\s*:"
    r"|\b(?:if|whether|unless)\s+(?!i\b|forced|pressed|asked|required|pushed)[^,]*$"
    r"|\b(?:suppos(?:e|ing)|assum(?:e|es|ed|ing)|imagine|hypothetically|consider(?:ed|ing)?)\b[^,]*$"
    r"|(?<!no )(?<!without )(?<!without a )(?<!any )(?<!beyond )(?<!little )\bdoubt(?:s|ed|ful)?\b"
    r"|\b(?:refus(?:e|es|ing)|declin(?:e|es|ing)) to\b|\bfar from\b|\bnothing (?:to )?(?:suggest|support"
    r"|indicat|point|favou?r)"
    r"|\b(?:father|mother|brother|sister|relatives?)\b|\b(?:wants?|wanted|asked|told) (?:me )?to\b|\bwere (?:it"
    r"|this)\b[^,]*$"
    r"|\bdisagree|\b(?:false|untrue|not true|not correct|incorrect|wrong|mistaken|unconvinced|skeptical"
    r"|sceptical) that\b"
    r"|\b(?:wrong|incorrect|mistaken?|inaccurate|premature|irresponsible|tempting|misleading|tempted|easy) to\b"
    r"|\b(?:least|(?:second|next)[\s-]+(?:most[\s-]+)?)\s*(?:likely|probable|plausible)\b"
    r"|\b(?:wrong|incorrect|alternative|other|worst|unlikely|second|third|next) (?:answer|option|choice"
    r"|diagnosis|possibility)\b"
    r"|\b(?:initial|first|previous|earlier|original)(?:ly)? (?:answer|thought|guess|impression|choice|diagnosis)\b"
    rf"|\b{_PERSON}\s+(?:(?:who|might|may|could|would|can|will|should|often|sometimes|people|wrongly|mistakenly|also"
    rf"|initially)\s+){{0,3}}{_SAYS}\b"
    r"|\b(?:was told|(?:report|referral|prompt|user|textbook|notes?) (?:sa(?:ys?|id)|(?:state|suggest|mention"
    r"|claim)(?:s|d|ed)?))\b"
)
# After a mention: the option is denied, or left open by a double negation.
_DENIED = (
    r"(?:unlikely|less \w+|improbable|implausible|excluded|ruled out|incorrect|wrong|false|not\b|absent|lacking"
    r"|missing"
    r"|doubtful|questionable|impossible|remote|unsupported|inconsistent|untenable|out\b|off the table"
    r"|dismissed|rejected|discarded|eliminated|negative|untrue|low\b|a mistake)"
)
_WORDS = (
    r"(?:\s+(?!(?:because|since|due|given|with|and|or|so|while|whereas|over|than|rather|but|though|although)\b)"
    r"[\w-]+){0,4}?"
)
_STOP = r"(?=\s*(?:$|[.,;!)\]\n]))"
NEGATION_AFTER = (
    rf"\)?(?:{_WORDS}\s+(?:is|are|was|were|seems?|appears?|looks?|has been|have been|can be|could be|would be)\s+"
    rf"(?:(?:also|very|highly|much|therefore|thus|more|most|rather|quite|too)\s+)*{_DENIED}"
    r"|\s+(?:isn't|aren't|wasn't|weren't|(?:do|does|did|wo|would|could|ca|should)n't|(?:do|does|did|would|could"
    r"|should) not"
    r"|cannot|can not|lacks?|fails?|has (?:little|no)|to be (?:excluded|ruled out|considered))\b"
    r"|\s+(?:(?:is|was|are|seems|remains|could be|may be|might be)\s+)?(?:possible|plausible|considered|conceivable)"
    r"\s*,?\s*(?:but|though|although|yet)\s+(?:\w+\s+){0,3}?(?:unlikely|improbable|less likely|doubtful|not\b)"
    r"|\s+(?:less likely|unlikely|excluded|ruled out|absent|doubtful|improbable)\b"
    r"|\s*[:=(\[–—-]+\s*(?:very |highly |most )?(?:unlikely|false|incorrect|wrong|excluded|absent|less likely"
    r"|ruled out"
    rf"|doubtful|improbable|not (?:likely|probable|supported|possible|seen|present)|(?:no|negative|low){_STOP}"
    r"|low (?:probability|likelihood|suspicion|chance))(?!\w)"
    rf"|,\s*(?:no|nope|not (?:likely|really)){_STOP})"
)
# After a mention that is the only one: what such a lesion does in general.
HYPOTHETICAL = (
    r"[)\]]?\s+(?:would|might|could|may|can|should|typically|usually|often|generally|commonly|tends?"
    r"|classically|normally"
    r"|frequently|is (?:typically|usually|often|generally|commonly|classically|normally|an?|characteri[sz]ed"
    r"|known|defined)"
    r"|was (?:suspected|considered)|(?:(?:has been|was|were) )?(?:treated|resected))\b"
)

CLAUSE_END = (
    r"[.;!?\n]|(?<!anything)(?<!everything)(?<!all),? but\b|\bhowever\b"
    r"|,\s*(?=(?:so|thus|hence|therefore|the (?:\w+ )?(?:answer|diagnosis)"
    r"|i (?:would |'d )?(?:choose|pick|say|go|think(?!,)|believe(?!,)|conclude)|my)\b)"
)
# Where a heading begins and ends: "A: solitary, B: multiple".
HEADING_BEFORE = r"(?:^|\n|[.,;]\s+|\band\s+)$"
HEADING_AFTER = r"\s*(?:[:=]|[–—-]\s|[.)]\s+\w)"
# Where a clause begins and ends that may consist of an option alone.
ALONE_START = (
    r"(?:^|[.;,!?\n–—]|\s-\s|\b(?:but|yet|so)\b)\s*(?:(?:but|yet|so|then|probably|likely|most likely|still"
    r"|nevertheless"
    r"|however|therefore|i'd say|option)\b[\s,:]*)*"
)
ALONE_END = r"\s*(?:$|[.;,!\n–—)]|\s-\s|(?:but|yet|though|although)\b)"
# Between two explicit answers: the second may contradict the first.
CORRECTION = (
    r"\b(?:actually|wait|correction|i mean|but|however|although|though|on reflection|on second thought|change"
    r"|instead|sorry)\b"
)
# Words that take back what was said before them: anywhere …
_LOOK = r"(?:thoughts?|reflection|look|review|inspection|consideration|reconsideration|analysis|examination)"
_TAKEN_BACK = (
    rf"\b(?:up)?on (?:second |further |closer |more careful |re)?{_LOOK}|\bsecond thoughts?|\bafter (?:re"
    rf"|further |closer ){_LOOK}"
    r"|\b(?:scratch|strike|forget|disregard|ignore|cancel) (?:that|this|my|the above)|\btake (?:that|it|this) back"
    r"|\bi (?:meant?|misread|misspoke|stand corrected)\b|\bchang(?:e|ed|ing) my (?:mind|answer)(?: to)?"
    r"|\bi (?:was|am) (?:wrong|mistaken)|\bmake (?:that|it)\b|\bor rather\b|\bmy (?:mistake|bad|error)\b"
    r"|\b(?:let me|i) (?:reconsider|correct|revise|rethink|rephrase|recheck|re-\w+)|\breconsidering\b|\b(?:hold"
    r"|hang) on\b"
    r"|\bcome to think of it|\b(?:that|this)(?:'s| is| was) (?:wrong|incorrect|not right|not correct|a mistake"
    r"|an error)"
    r"|\b(?:that|this|it) (?:cannot|can't|could not|couldn't|isn't|is not|wasn't|was not) (?:be )?(?:right|correct)\b"
    r"|\bi (?:retract|withdraw|recant)\b|\bi made an? (?:mistake|error)|\bmistakenly\b"
    r"|\bnever ?mind\b|\bthinking again\b|\blooking (?:again|more closely)\b"
)
# … and where a clause begins with them.
_AT = r"(?:\s*[,.:;!?…—–]|\s*-(?!\w)|\s*$|\s*\n"
# A sentence may begin without a stop before it.
_SENTENCE = r"(?-i:(?<=\s)(?=[A-Z]))"
RETRACTION = (
    rf"{_TAKEN_BACK}|(?:^|{_SENTENCE}|[.,;:!?…\n(—–]|-\s|\bbut\b|\bhmm+\b|\boh\b|\bwell\b)\s*(?:"
    rf"wait(?={_AT}|\s+(?:no|actually|i|it|the)\b))|(?:hmm+|oops|whoops|edit|update|revised)(?={_AT}))"
    rf"|instead(?={_AT}))|(?:it )?should (?:be|have been|read)\b|correct(?:ion|ed)\b|actually\b|rather\b(?! than)"
    r"|(?:sorry|apologies)\b(?!,?\s+(?:(?:but )?(?:as an ai|i|we)\b(?!\s+(?:meant?|was wrong|should|is|think))"
    r"|for\b|about\b|that\b|to\b)))"
    rf"|(?:^|{_SENTENCE}|[.,;!?…\n(—–]|\bbut\b|\bhmm+\b[,.…]*|\boh\b,?|\bwait\b,?)\s*(?P<no>no|nope|nah|nein"
    rf"|non)(?={_AT}"
    rf"|\s+(?:wait|actually|sorry|it(?:'s|\s+is))\b))"
)

# Ways to say that the evidence does not decide, besides the prompt's synonyms for UNSURE.
UNSURE_PHRASES = (
    r"(?:can(?:no|')t|can not|could not|couldn't|unable to|not able to|not possible to|impossible to)\s+"
    r"(?:be\s+)?(?:(?:reliably|definitively|confidently|clearly)\s+)?"
    r"(?:determined?|tell|say|decided?|distinguish(?:ed)?|differentiated?|establish(?:ed)?|(?:be )?(?:sure"
    r"|certain)|(?:choose|pick|select) between)",
    r"(?:insufficient|not enough)\s+(?:information|evidence|data|detail)",
    r"(?:do not|don't) know",
    r"not (?:sure|certain|clear)",
    r"abstain(?:ed|ing)?|abstention",
    r"unsure|uncertain|undetermined|undeterminable|indeterminate|inconclusive",
    r"(?:unclear|equivocal)(?=\s*(?:[.,;!]|$|whether\b|which\b|if\b|what\b))",
)

# Ways to decline the task. Declining is not doubting: "cannot provide" here, "cannot determine" above.
_CANNOT = (
    r"(?:can(?:no|')t|can not|could not|couldn't|unable to|won't|will not"
    r"|(?:am|'m|are|is) (?:not able|not qualified|not allowed|not permitted) to)"
)
REFUSALS = (
    rf"{_CANNOT}\s+(?:\w+\s+)?(?:provide|assist|help|offer|give|make|diagnos\w*|interpret|analy[sz]e|view|see"
    rf"|read|access"
    r"|recogni[sz]e|process|answer|comply|fulfil+|do that|comment|evaluate|assess|(?:choose|select|pick|name"
    r"|commit)(?! between))\b",
    rf"\bas an? (?:ai|artificial intelligence|(?:large )?language model|assistant)\b[^.;!?\n]{{0,120}}{_CANNOT}",
    r"\b(?:do not|don't) have (?:the |any )?(?:ability|capability|access|means) to\b",
    r"\b(?:must|have to|will) decline\b|\bi decline\b|\bdecline to\b",
    r"\brefus(?:e|ing) to\b|\brefrain from\b|\b(?:would|'d) rather not\b|\bprefer not to\b|\bno comment\b",
    r"\b(?:irresponsible|inappropriate|not appropriate|unethical|unsafe|improper|dangerous)\b[^.;!?\n]{0,40}\bto "
    r"(?:answer|choose|say|give|provide|diagnos\w*|guess|speculate)\b",
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
