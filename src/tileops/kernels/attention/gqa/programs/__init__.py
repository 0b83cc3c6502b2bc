"""TileLang programs of grouped-query attention."""
