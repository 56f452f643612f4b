"""OfficeBench (arXiv 2407.19056) as a world: its apps' actions as tools, and what an agent in it is told."""

from simia.types import JsonObject, ToolSpec, WorldSpec

LICENCE = "Apache-2.0"

POLICY = """You are an office assistant. You work for one employee on a computer with the apps calendar, email, excel, \
word, pdf, ocr, shell and llm.
- Files of the task lie in /testbed/data; list them with the shell if you do not know their names.
- Do one action at a time and look at its result before the next.
- Do what the task says and nothing else. When it asks a question, answer it; otherwise say that the task is done."""

# Name, description, required parameters. An app's name stands before the action, since several apps read files.
_ACTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("system_switch_app", "Switch to another app.", ("target_app",)),
    (
        "calendar_create_event",
        "Create an event; times as YYYY-MM-DD HH:MM:SS.",
        ("user", "summary", "time_start", "time_end"),
    ),
    ("calendar_delete_event", "Delete an event of a user by its summary.", ("user", "summary")),
    ("calendar_list_events", "List the events of a user.", ("username",)),
    ("email_send_email", "Send an e-mail.", ("sender", "recipient", "subject", "content")),
    ("email_list_emails", "List the e-mails of a user.", ("username",)),
    ("email_read_email", "Read an e-mail of a user.", ("username", "email_id")),
    ("excel_read_file", "Read an Excel file as a table.", ("file_path",)),
    ("excel_set_cell", "Write text into a cell; indices count from 1.", ("file_path", "row_idx", "column_idx", "text")),
    ("excel_delete_cell", "Empty a cell; indices count from 1.", ("file_path", "row_idx", "column_idx")),
    ("excel_create_new_file", "Create an empty Excel file.", ("file_path",)),
    ("excel_convert_to_pdf", "Convert an Excel file to PDF.", ("excel_file_path", "pdf_file_path")),
    ("word_read_file", "Read a Word file.", ("file_path",)),
    ("word_write_to_file", "Write text into a Word file.", ("file_path", "contents")),
    ("word_create_new_file", "Create an empty Word file.", ("file_path",)),
    ("word_convert_to_pdf", "Convert a Word file to PDF.", ("word_file_path", "pdf_file_path")),
    ("pdf_read_file", "Read the text of a PDF.", ("pdf_file_path",)),
    ("pdf_convert_to_word", "Convert a PDF to Word.", ("pdf_file_path", "word_file_path")),
    ("pdf_convert_to_image", "Convert a PDF to an image.", ("pdf_file_path", "image_file_path")),
    ("pdf_image_convert_to_pdf", "Convert an image to PDF.", ("image_file_path", "pdf_file_path")),
    ("ocr_recognize_file", "Read the text in an image.", ("file_path",)),
    ("shell_command", "Run a shell command.", ("command",)),
    ("llm_complete_text", "Ask a language model.", ("prompt",)),
)


def world(licence: str = LICENCE) -> WorldSpec:
    """OfficeBench's world. It has no tracked state: files are not JSON."""
    return WorldSpec(name="officebench", policy=POLICY, tools=tuple(map(_tool, _ACTIONS)), licence=licence)


def _tool(action: tuple[str, str, tuple[str, ...]]) -> ToolSpec:
    name, description, parameters = action
    properties: JsonObject = {parameter: _schema(parameter) for parameter in parameters}
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(parameters)}
    return ToolSpec(name=name, description=description, parameters=schema)


def _schema(parameter: str) -> JsonObject:
    if parameter.endswith("_idx"):
        return {"type": ["integer", "string"]}
    return {"type": ["array", "string"]} if parameter in ("recipient", "command", "contents") else {"type": "string"}
