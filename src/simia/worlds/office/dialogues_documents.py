"""Scripted conversations in the office: documents, mail, and looking things up."""

from simia.worlds.dialogue import Dialogue, Say, User, do, do_all
from simia.worlds.office.dialogues_meetings import scene
from simia.worlds.office.states import document, meeting


def document_dialogues() -> tuple[Dialogue, ...]:
    """Nine conversations about documents, mail, and who is where."""
    return (
        Dialogue(
            "office-12",
            "You are Kofi Boateng, Account Manager. You want to know when the offline mode of the mobile app comes; it "
            "stands in the roadmap. You promised the customer Halden an answer.",
            scene(
                "office-12",
                "2025-06-11",
                "p-boateng",
                documents={
                    "D-204": document(
                        "Mobile app roadmap", "projects", "p-petrova", "Q3: offline mode. Q4: payments.", ("p-boateng",)
                    ),
                    "D-219": document(
                        "Mobile app roadmap, draft 2026", "projects", "p-petrova", "Q1: widgets. Q2: watch app."
                    ),
                },
            ),
            (
                User("Quick one: when is offline mode planned for the app? Should be in the roadmap somewhere."),
                do("search_documents", words="roadmap"),
                do("read_document", document_id="D-204"),
                Say("According to the mobile app roadmap, offline mode is planned for Q3, and payments for Q4."),
                User("Nice. Can you mail that to my contact at Halden? ines@halden.example"),
                Say(
                    "I'm afraid I can't send mail outside the company, only to colleagues. You can pass it on "
                    "yourself. The roadmap belongs to Daria Petrova, in case you want to check with her what "
                    "may be told to a customer."
                ),
                User("ok fair, I'll do it myself"),
                Say("Good luck with Halden!"),
            ),
        ),
        Dialogue(
            "office-13",
            "You are Daria Petrova, Engineering Manager. Mateo Ruiz and Yuki Tanaka need to read both of your project "
            "documents, the relaunch plan and the roadmap. Reading is enough.",
            scene(
                "office-13",
                "2025-01-20",
                "p-petrova",
                documents={
                    "D-211": document(
                        "Website relaunch plan", "projects", "p-petrova", "Phase 1: content. Phase 2: design."
                    ),
                    "D-204": document("Mobile app roadmap", "projects", "p-petrova", "Q3: offline mode. Q4: payments."),
                    "D-230": document("Travel budget", "finance", "p-weber", "Engineering 6000.", ("p-petrova",)),
                },
            ),
            (
                User(
                    "Please give Mateo and Yuki access to my two project docs, the relaunch plan and the app roadmap. "
                    "Read only."
                ),
                do_all(
                    ("find_people", {"words": "engineering"}),
                    ("find_people", {"words": "developer"}),
                    ("search_documents", {"words": "", "folder": "projects"}),
                ),
                do(
                    "share_documents",
                    document_ids=["D-211", "D-204"],
                    person_ids=["p-ruiz", "p-tanaka"],
                    access="read",
                ),
                Say(
                    'Mateo Ruiz and Yuki Tanaka can now read "Website relaunch plan" and "Mobile app roadmap". '
                    "They can't edit them."
                ),
                User("Thanks, that's it."),
                Say("You're welcome, Daria."),
            ),
        ),
        Dialogue(
            "office-14",
            "You are Fiona Nolan, Head of People. Nadia Amari asked you for the salary bands before her hiring talks. "
            "Have the document shared with her. If that is not possible, ask for its main points by mail to her; "
            "accept it if that is not possible either.",
            scene(
                "office-14",
                "2025-10-14",
                "p-nolan",
                documents={
                    "D-245": document(
                        "Salary bands", "people", "p-nolan", "Band C: 52000 to 61000. Band D: 60000 to 72000."
                    )
                },
            ),
            (
                User("Nadia needs the salary bands for her hiring talks. Please share the document with her."),
                do_all(
                    ("find_people", {"words": "nadia"}),
                    ("search_documents", {"words": "salary bands"}),
                ),
                Say(
                    '"Salary bands" lies in the folder people and is confidential: it can only be shared with members '
                    "of the team People, and Nadia is in Sales. So I can't share it with her."
                ),
                User("Then just copy the numbers for bands C and D into a mail to her."),
                Say(
                    "That isn't possible either; the content of confidential documents must not be repeated in a mail. "
                    "What I can do is set up a call between the two of you, so that you can decide yourself what to "
                    "tell her."
                ),
                User("No, leave it, I'll walk over to her."),
                Say("All right, Fiona. Nothing has been shared or sent."),
            ),
        ),
        Dialogue(
            "office-15",
            "You are Mateo Ruiz, Backend Developer. Write to Jonas (the one from Finance) that your train tickets cost "
            "86 and that the receipts are on his desk.",
            scene("office-15", "2025-03-26", "p-ruiz"),
            (
                User("Send Jonas a mail: my train tickets were 86, receipts are on your desk."),
                do("find_people", words="jonas"),
                Say(
                    "There are two: Jonas Weber, Controller in Finance, and Jonas Weiss, Recruiter in People. Which "
                    "one do you mean?"
                ),
                User("Weber, obviously. Sign it Mateo."),
                do(
                    "send_mail",
                    to=["p-weber"],
                    subject="Train tickets",
                    body="Hi Jonas, my train tickets were 86, the receipts are on your desk. Mateo",
                ),
                Say(
                    'Sent to Jonas Weber, with the subject "Train tickets": "Hi Jonas, my train tickets were 86, the '
                    'receipts are on your desk. Mateo"'
                ),
                User("ta"),
                Say("Any time, Mateo."),
            ),
        ),
        Dialogue(
            "office-16",
            "You are Jonas Weiss, Recruiter. You want to read the quarterly forecast, document D-252. If you may not, "
            "have a mail sent to Jonas Weber that asks him to share it with you.",
            scene(
                "office-16",
                "2025-07-08",
                "p-weiss",
                documents={
                    "D-252": document("Quarterly forecast", "finance", "p-weber", "Revenue 410000, cost 356000.")
                },
            ),
            (
                User("Hi, could you open D-252 for me and tell me the expected revenue? Jonas Weiss, People."),
                do("read_document", document_id="D-252"),
                Say(
                    "You don't have access to document D-252, so I can't open it for you. Its owner would have to "
                    "share it with you. Do you know who that is? I could write to them."
                ),
                User("It's the quarterly forecast from my namesake Jonas Weber. Please ask him to share it with me."),
                do("find_people", words="jonas weber"),
                Say(
                    "This is what I would send to Jonas Weber:\n\n"
                    "Subject: Access to D-252\n"
                    "Hi Jonas, could you please share the quarterly forecast (D-252) with me? Best, Jonas Weiss\n\n"
                    "Is that all right?"
                ),
                User("Yes"),
                do(
                    "send_mail",
                    to=["p-weber"],
                    subject="Access to D-252",
                    body="Hi Jonas, could you please share the quarterly forecast (D-252) with me? Best, Jonas Weiss",
                ),
                Say("The mail is out. As soon as he shares the document I can read it for you."),
            ),
        ),
        Dialogue(
            "office-17",
            "You are Nadia Amari, Head of Sales. You want to know what Kofi Boateng and you have in the calendar "
            "tomorrow, and whether you have a common gap of an hour in the afternoon. You book nothing.",
            scene(
                "office-17",
                "2025-05-05",
                "p-amari",
                {
                    "M-133": meeting("Customer call", "p-boateng", "2025-05-06", "09:00", "10:00"),
                    "M-135": meeting("Pipeline", "p-amari", "2025-05-06", "10:30", "11:30", ("p-boateng",), "Alder"),
                    "M-136": meeting("Budget review", "p-weber", "2025-05-06", "15:00", "16:30", ("p-amari",), "Birch"),
                },
            ),
            (
                User("What do Kofi and I have on tomorrow?"),
                do_all(("find_people", {"words": "nadia"}), ("find_people", {"words": "kofi"})),
                do_all(
                    ("list_meetings", {"person_id": "p-amari", "date": "2025-05-06"}),
                    ("list_meetings", {"person_id": "p-boateng", "date": "2025-05-06"}),
                ),
                Say(
                    "Tomorrow, 6 May:\n"
                    "- You: Pipeline 10:30 to 11:30 in Alder, Budget review 15:00 to 16:30 in Birch\n"
                    "- Kofi: Customer call 09:00 to 10:00, Pipeline with you 10:30 to 11:30"
                ),
                User("And is there an hour in the afternoon when we're both free?"),
                do("free_slots", person_ids=["p-amari", "p-boateng"], date="2025-05-06", minutes=60),
                Say("Yes, from 13:00 to 15:00 and from 16:30 to 17:30. Should I book something?"),
                User("Not yet, just checking."),
                Say("Okay, I've booked nothing."),
            ),
        ),
        Dialogue(
            "office-18",
            "You are Chidi Okafor, Illustrator. You want Yuki Tanaka to be able to edit the style guide, D-237. You "
            "think it is yours, but Sofia Lindgren owns it. If needed, have Sofia asked by mail.",
            scene(
                "office-18",
                "2025-09-02",
                "p-okafor",
                documents={
                    "D-237": document(
                        "Style guide", "projects", "p-lindgren", "Colours, type, spacing, icons.", ("p-okafor",)
                    )
                },
            ),
            (
                User("Please let Yuki edit the style guide, D-237."),
                do("find_people", words="yuki"),
                do("share_documents", document_ids=["D-237"], person_ids=["p-tanaka"], access="edit"),
                do("find_people", words="lindgren"),
                Say(
                    "The style guide belongs to Sofia Lindgren, and only the owner can share it. Shall I ask her by "
                    "mail to give Yuki edit rights?"
                ),
                User("Oh, I always thought it was mine. Yes, ask Sofia, say it's for the new icons."),
                do(
                    "send_mail",
                    to=["p-lindgren"],
                    subject="Edit rights for Yuki on the style guide",
                    body="Hi Sofia, could you please give Yuki edit rights on the style guide (D-237)? It is for the "
                    "new icons. Thanks, Chidi",
                ),
                Say("I've asked Sofia, with the new icons as the reason."),
                User("Thanks!"),
                Say("Happy to help, Chidi."),
            ),
        ),
        Dialogue(
            "office-19",
            "You are Fiona Nolan, Head of People. Jonas Weiss takes over the hiring. Give him edit rights on your "
            'documents "Interview guide" and "Salary bands", and book 30 minutes with him today at 16:00 to hand over.',
            scene(
                "office-19",
                "2025-11-18",
                "p-nolan",
                {"M-196": meeting("Candidate call", "p-weiss", "2025-11-18", "15:30", "16:15")},
                {
                    "D-245": document("Salary bands", "people", "p-nolan", "Band A to F; reviewed every January."),
                    "D-246": document(
                        "Interview guide", "people", "p-nolan", "Four questions, one exercise, 50 minutes."
                    ),
                },
            ),
            (
                User(
                    "Jonas Weiss takes over hiring from me. He needs to edit the interview guide and the salary bands, "
                    "and I'd like half an hour with him today at 16:00 to hand over."
                ),
                do_all(
                    ("find_people", {"words": "jonas weiss"}),
                    ("search_documents", {"words": "", "folder": "people"}),
                ),
                do_all(
                    (
                        "share_documents",
                        {"document_ids": ["D-246", "D-245"], "person_ids": ["p-weiss"], "access": "edit"},
                    ),
                    (
                        "schedule_meeting",
                        {
                            "title": "Hiring handover",
                            "date": "2025-11-18",
                            "start": "16:00",
                            "minutes": 30,
                            "attendees": ["p-weiss"],
                        },
                    ),
                    say="Jonas is in the team People, so both documents can be shared with him.",
                ),
                do("free_slots", person_ids=["p-nolan", "p-weiss"], date="2025-11-18", minutes=30),
                Say(
                    "Jonas can now edit both documents. The handover at 16:00 didn't work, as he has a candidate call "
                    "from 15:30 to 16:15. You're both free from 16:15 to 17:30. Shall I book 16:15?"
                ),
                User("Yes, 16:15 is good."),
                do(
                    "schedule_meeting",
                    title="Hiring handover",
                    date="2025-11-18",
                    start="16:15",
                    minutes=30,
                    attendees=["p-weiss"],
                ),
                Say('Booked: "Hiring handover" with Jonas Weiss, today from {5[start]} to {5[end]}.'),
                User("Wonderful, thank you."),
                Say("All the best for the handover, Fiona."),
            ),
        ),
        Dialogue(
            "office-20",
            "You are Yuki Tanaka, Frontend Developer. You prepare the onboarding of a new colleague: you want to know "
            "what the onboarding checklist says and then invite Daria Petrova and Fiona Nolan to a 15-minute call on "
            "24 January 2025 at 09:15 about it.",
            scene(
                "office-20",
                "2025-01-22",
                "p-tanaka",
                {"M-114": meeting("Payroll", "p-nolan", "2025-01-24", "10:00", "11:00", ("p-weber",), "Alder")},
                {
                    "D-201": document(
                        "Onboarding checklist",
                        "templates",
                        "p-weiss",
                        "Laptop, badge, accounts, lunch with the team, first one to one in week 1.",
                        ("p-tanaka", "p-petrova"),
                    )
                },
            ),
            (
                User("We're getting a new frontend dev! What's on the onboarding checklist?"),
                do("search_documents", words="onboarding"),
                do("read_document", document_id="D-201"),
                Say(
                    "How nice! The onboarding checklist lists: a laptop, a badge, the accounts, lunch with the team, "
                    "and a first one to one in week 1."
                ),
                User(
                    "Cool. I want to go through it with Daria and Fiona, 15 minutes on Friday at 9:15, just a call. "
                    '"Onboarding prep".'
                ),
                do_all(("find_people", {"words": "daria"}), ("find_people", {"words": "fiona"})),
                do(
                    "schedule_meeting",
                    title="Onboarding prep",
                    date="2025-01-24",
                    start="09:15",
                    minutes=15,
                    attendees=["p-petrova", "p-nolan"],
                ),
                Say(
                    '"Onboarding prep" is set for Friday, 24 January, {4[start]} to {4[end]}, a call with Daria and '
                    "Fiona. Both were free."
                ),
                User("Thanks a bunch!"),
                Say("You're welcome, Yuki. Good luck with the new colleague!"),
            ),
        ),
    )
