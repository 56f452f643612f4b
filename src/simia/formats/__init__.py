"""How conversations are spelled. In every module ``parse`` inverts ``render``; nothing here does input or output.

One module per spelling: ``openai``, ``sharegpt``, ``hermes``, ``llama3`` for training files and endpoints,
``transcript`` for prompts, ``exchanges`` for a whole trajectory in one model reply, ``json_text`` for JSON that a
model wrote. What they share: ``calls`` (reading arguments, finding observations), ``pairing`` (where there are no
ids), ``markers`` (keeping text from being taken for a marker) and ``observation`` (marking errors where a spelling has
no field for them).

ShareGPT, Hermes and Llama-3 have no call ids. There the law is ``parse(render(x)) == x`` for every ``x`` that
``calls.normalise_ids`` leaves as it is.
"""
