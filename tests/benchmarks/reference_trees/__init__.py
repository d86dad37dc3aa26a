"""Train and judge the trees that correct the scores of possible references."""
