"""Reduce the words of names to their stems, and drop words without meaning."""

from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, name_words

_ENDINGS = (
    ("ies", "y"),
    ("ie", "y"),
    ("sses", "ss"),
    ("shes", "sh"),
    ("ches", "ch"),
    ("che", "ch"),
    ("xes", "x"),
    ("uses", "u"),
    ("use", "u"),
    ("sis", "se"),
)
"""Endings of nouns, with their replacements. Both `-uses` and `-use` become `-u`, because a plural
in `-uses` may come from a noun in `-us`, such as `status`, or in `-use`, such as `warehouse`."""
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}
"""Nouns with irregular plurals."""
_MIN_PLURAL = 4
"""Minimum number of letters of a word in the plural."""
_KEY_WORDS = IDENTIFIER_WORDS | {"fk", "pk", "ptr", "rowid"}
"""Words, such as `id` or `fk`, that mark keys and references but do not name what they identify."""

Words = tuple[str, ...]


def noun_stem(word: str) -> str:
    """Reduce an English noun to a stem that singular and plural share.

    Except for a few irregular nouns, only the ending of the word decides.

    Args:
        word: A noun in the singular or plural, in lower case.

    >>> noun_stem("countries"), noun_stem("country"), noun_stem("class")
    ('country', 'country', 'class')
    >>> noun_stem("warehouses") == noun_stem("warehouse"), noun_stem("statuses")
    (True, 'statu')
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > _MIN_PLURAL:
        for ending, rest in _ENDINGS:
            if word.endswith(ending):
                return word.removesuffix(ending) + rest
    is_plural = len(word) >= _MIN_PLURAL and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if is_plural else word


def stems(name: str) -> Words:
    """Split a name into words, and reduce each word to its stem."""
    return tuple(noun_stem(word) for word in name_words(name))


def meaningful_words(words: Words) -> Words:
    """Drop the words of a name that carry no meaning, such as `id`, `code` and `fk`."""
    return tuple(word for word in words if word not in _KEY_WORDS)
