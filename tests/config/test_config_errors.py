"""What an error says must be something that its reader can do."""

from simia.errors import ExtraMissing


def test_a_missing_extra_is_told_with_the_command_for_a_clone_and_for_a_package() -> None:
    message = str(ExtraMissing("parquet", "the export format trl-parquet"))
    assert message.startswith("the export format trl-parquet needs the extra 'parquet': ")
    assert "in a clone of simia pip install '.[parquet]'" in message
    assert "from a package index pip install 'simia[parquet]'" in message
