"""Ask a language model for name variants of key columns (paper, section 4.1, step 3).

It is off unless a recipe names a model under `model.variants.llm`. The rules of
`datahub_hyperjoin.model.signals.names` provide the variants that the model does not.
"""
