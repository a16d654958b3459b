"""What is varied: order, labels, evidence, wording, context."""
