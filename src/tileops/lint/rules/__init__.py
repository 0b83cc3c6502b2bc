"""The rules, one module each. A module is named after its rule's id and defines that one rule."""
