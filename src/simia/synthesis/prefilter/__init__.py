"""Seeds are judged before anything is made from them: by rules, then by a model."""
