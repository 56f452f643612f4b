"""The environment behind the interfaces of trainers and protocols: one module and one extra for each."""
