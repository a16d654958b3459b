"""Makes the phantom cohort and the random-weight reader, which the study then reads like anyone's."""
