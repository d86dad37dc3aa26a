"""Other names of key columns, asked of a language model (paper, section 4.1, step 3).

Off unless a recipe names a model under `model.variants.llm`. Whatever the model does not answer, or
answers badly, the rules of `datahub_hyperjoin.model.signals.variants` serve.
"""
