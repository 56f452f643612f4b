"""The office as a spec: tools, shape of the state, invariants."""

from simia.types import Invariant, JsonObject, ToolSpec
from simia.worlds.schema_parts import COUNT, DATE, STRING, closed, list_of, table_of, text

ACCESS = ["read", "edit"]
FOLDERS = ["projects", "finance", "people", "templates"]
TEAMS = ["Design", "Engineering", "Finance", "People", "Sales"]

_TIME: JsonObject = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
_DATE_ASKED: JsonObject = {**DATE, "description": "Day as YYYY-MM-DD."}
_START_ASKED: JsonObject = {**_TIME, "description": "Start as HH:MM, 24 hours."}
_MINUTES: JsonObject = {"type": "integer", "minimum": 15, "maximum": 120, "description": "Length in minutes."}
_PERSON_ID: JsonObject = text("Id of a person as given by find_people, for example 'p-okafor'.")
_DOCUMENT_ID: JsonObject = text("Id of a document, for example 'D-204'.")
_MEETING_ID: JsonObject = text("Id of a meeting, for example 'M-118'.")
_PEOPLE: JsonObject = list_of(_PERSON_ID, minItems=1, uniqueItems=True)
_FOLDER: JsonObject = {"type": "string", "enum": FOLDERS}

_MEETING_FIELDS: JsonObject = {
    "title": STRING,
    "organizer": STRING,
    "date": DATE,
    "start": _TIME,
    "end": _TIME,
    "attendees": list_of(STRING, minItems=1),
    "room": {"type": ["string", "null"]},
}
_MEETING: JsonObject = closed({"meeting_id": STRING, **_MEETING_FIELDS})
_PLACED: JsonObject = closed({"meeting_id": STRING, "title": STRING, "date": DATE, "start": _TIME, "end": _TIME})
_NOT_DONE: JsonObject = list_of(closed({"meeting_id": STRING, "why": STRING}))

STATE_SCHEMA: JsonObject = closed(
    {
        "today": DATE,
        "signed_in": STRING,
        "next_number": COUNT,
        "people": table_of(closed({"name": STRING, "email": STRING, "title": STRING})),
        "teams": table_of(list_of(STRING)),
        "rooms": table_of(closed({"seats": COUNT})),
        "meetings": table_of(closed(_MEETING_FIELDS)),
        "documents": table_of(
            closed(
                {
                    "title": STRING,
                    "folder": _FOLDER,
                    "owner": STRING,
                    "text": STRING,
                    "readers": list_of(STRING),
                    "editors": list_of(STRING),
                }
            )
        ),
        "mail": table_of(closed({"sender": STRING, "to": list_of(STRING), "subject": STRING, "body": STRING})),
    }
)

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(name="the signed-in user is an employee", expression="signed_in", refers_to="keys(people)"),
    Invariant(name="teams consist of employees", expression="values(teams)[]", refers_to="keys(people)"),
    Invariant(name="attendees are employees", expression="values(meetings)[].attendees[]", refers_to="keys(people)"),
    Invariant(name="meetings are in rooms", expression="values(meetings)[?room].room", refers_to="keys(rooms)"),
    Invariant(
        name="the organiser attends",
        expression="length(values(meetings)[?!contains(attendees, organizer)]) == `0`",
    ),
    Invariant(name="owners are employees", expression="values(documents)[].owner", refers_to="keys(people)"),
    Invariant(
        name="an owner may edit",
        expression="length(values(documents)[?!contains(editors, owner)]) == `0`",
    ),
    Invariant(
        name="confidential documents stay in the team People",
        expression="values(documents)[?folder == 'people'].[readers, editors][][]",
        refers_to="teams.People",
    ),
    Invariant(name="mail stays inside", expression="values(mail)[].to[]", refers_to="keys(people)"),
)

TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="find_people",
        description="Colleagues whose name, title or team contains the words, and today's date.",
        parameters=closed({"words": text("Part of a name, a title or a team; empty for everybody.")}),
        returns=closed(
            {
                "people": list_of(
                    closed(
                        {
                            "person_id": STRING,
                            "name": STRING,
                            "email": STRING,
                            "title": STRING,
                            "team": STRING,
                            "is_you": {"type": "boolean"},
                        }
                    )
                ),
                "today": DATE,
            }
        ),
    ),
    ToolSpec(
        name="list_meetings",
        description="The meetings of a person on one day, in order of time.",
        parameters=closed({"person_id": _PERSON_ID, "date": _DATE_ASKED}),
        returns=closed({"meetings": list_of(_MEETING)}),
    ),
    ToolSpec(
        name="free_slots",
        description="Times of one day at which all these people are free for at least so many minutes, "
        "inside working hours and outside the lunch break.",
        parameters=closed({"person_ids": _PEOPLE, "date": _DATE_ASKED, "minutes": _MINUTES}),
        returns=closed(
            {
                "slots": list_of(closed({"from": _TIME, "to": _TIME})),
                "rooms": list_of(closed({"room": STRING, "seats": COUNT})),
            }
        ),
    ),
    ToolSpec(
        name="schedule_meeting",
        description="Schedule a meeting organised by the signed-in employee, who attends. Without room it is a call.",
        parameters=closed(
            {
                "title": text("Title of the meeting."),
                "date": _DATE_ASKED,
                "start": _START_ASKED,
                "minutes": _MINUTES,
                "attendees": _PEOPLE,
                "room": text("Name of a room."),
            },
            required=["title", "date", "start", "minutes", "attendees"],
        ),
        returns=_MEETING,
    ),
    ToolSpec(
        name="move_meetings",
        description="Move one or several meetings that the signed-in employee organises, keeping their lengths and "
        "rooms. Meetings that cannot be moved are named with the reason; the others are moved.",
        parameters=closed(
            {
                "moves": list_of(
                    closed({"meeting_id": _MEETING_ID, "date": _DATE_ASKED, "start": _START_ASKED}), minItems=1
                )
            }
        ),
        returns=closed({"moved": list_of(_PLACED), "not_moved": _NOT_DONE}),
    ),
    ToolSpec(
        name="cancel_meetings",
        description="Cancel one or several meetings that the signed-in employee organises.",
        parameters=closed({"meeting_ids": list_of(_MEETING_ID, minItems=1, uniqueItems=True)}),
        returns=closed({"cancelled": list_of(_PLACED), "not_cancelled": _NOT_DONE}),
    ),
    ToolSpec(
        name="search_documents",
        description="Documents that the signed-in employee may read and whose title contains the words.",
        parameters=closed(
            {
                "words": text("Words of the title; empty for all."),
                "folder": {**_FOLDER, "description": "Only this folder."},
            },
            required=["words"],
        ),
        returns=closed(
            {"documents": list_of(closed({"document_id": STRING, "title": STRING, "folder": _FOLDER, "owner": STRING}))}
        ),
    ),
    ToolSpec(
        name="read_document",
        description="The text of a document, and who may read and edit it.",
        parameters=closed({"document_id": _DOCUMENT_ID}),
        returns=closed(
            {
                "document_id": STRING,
                "title": STRING,
                "folder": _FOLDER,
                "owner": STRING,
                "text": STRING,
                "readers": list_of(STRING),
                "editors": list_of(STRING),
            }
        ),
    ),
    ToolSpec(
        name="share_documents",
        description="Give people access to one or several documents that the signed-in employee owns.",
        parameters=closed(
            {
                "document_ids": list_of(_DOCUMENT_ID, minItems=1, uniqueItems=True),
                "person_ids": _PEOPLE,
                "access": {"type": "string", "enum": ACCESS, "description": "Whether they may also edit."},
            }
        ),
        returns=closed(
            {
                "shared": list_of(closed({"document_id": STRING, "title": STRING, "with": list_of(STRING)})),
                "access": {"type": "string", "enum": ACCESS},
            }
        ),
    ),
    ToolSpec(
        name="send_mail",
        description="Send a mail from the signed-in employee to colleagues.",
        parameters=closed(
            {"to": _PEOPLE, "subject": text("Subject line."), "body": text("Text of the mail.")},
        ),
        returns=closed({"mail_id": STRING, "to": list_of(STRING)}),
    ),
)
