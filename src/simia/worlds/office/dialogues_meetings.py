"""Scripted conversations in the office: scheduling, moving and cancelling meetings."""

from datetime import date, timedelta

from simia.config import rng_for
from simia.types import JsonObject, State
from simia.worlds.dialogue import Dialogue, Say, User, do, do_all
from simia.worlds.office.states import STAFF, empty_state, meeting


def scene(
    name: str,
    today: str,
    signed_in: str,
    meetings: dict[str, JsonObject] | None = None,
    documents: dict[str, JsonObject] | None = None,
) -> State:
    """The office with these meetings and documents, and two calls of other people two weeks later."""
    rng = rng_for(2025, name)
    state = empty_state(today, signed_in, rng.randrange(300, 900))
    state["meetings"] = dict(meetings or {})
    for number in sorted(rng.sample(range(200, 290), 2)):
        day = (date.fromisoformat(today) + timedelta(days=14)).isoformat()
        one, other = rng.sample([person for person in STAFF if person != signed_in], 2)
        start = rng.choice(("09:30", "10:30", "14:00", "15:30"))
        state["meetings"][f"M-{number}"] = meeting("Catch-up", one, day, start, f"{start[:3]}45", (other,))
    state["documents"] = dict(documents or {})
    return state


def meeting_dialogues() -> tuple[Dialogue, ...]:
    """Eleven conversations about calendars."""
    return (
        Dialogue(
            "office-01",
            "You are Sofia Lindgren, Lead Designer. You want an hour with Chidi Okafor and Yuki Tanaka tomorrow, in a "
            "room, to go through the new icon set. The morning would suit you best.",
            scene(
                "office-01",
                "2025-06-02",
                "p-lindgren",
                {
                    "M-118": meeting("Demo", "p-tanaka", "2025-06-03", "09:00", "10:00", ("p-petrova",), "Birch"),
                    "M-121": meeting("One to one", "p-lindgren", "2025-06-03", "11:00", "11:30", ("p-okafor",)),
                },
            ),
            (
                User(
                    "Morning! Can you find me an hour with Chidi and Yuki tomorrow? We need to go through the new icon "
                    "set, ideally before lunch and in a proper room."
                ),
                do_all(
                    ("find_people", {"words": "chidi"}),
                    ("find_people", {"words": "yuki"}),
                    ("find_people", {"words": "lead designer"}),
                ),
                do(
                    "free_slots",
                    person_ids=["p-lindgren", "p-okafor", "p-tanaka"],
                    date="2025-06-03",
                    minutes=60,
                ),
                Say(
                    "All three of you are free tomorrow, 3 June, from 10:00 to 11:00; it is the only "
                    'whole hour before lunch. Shall I book it in Birch, with the title "Icon set review"?'
                ),
                User("Perfect, yes."),
                do(
                    "schedule_meeting",
                    title="Icon set review",
                    date="2025-06-03",
                    start="10:00",
                    minutes=60,
                    attendees=["p-okafor", "p-tanaka"],
                    room="Birch",
                ),
                Say(
                    "Booked: {4[title]}, tomorrow from {4[start]} to {4[end]} in {4[room]}, with Chidi and Yuki. They "
                    "have been invited."
                ),
                User("Great, thank you."),
                Say("You're welcome, Sofia."),
            ),
        ),
        Dialogue(
            "office-02",
            "You are Nadia Amari, Head of Sales. You insist on a quick call with Kofi Boateng today at 12:30 because "
            "you are in calls all day. If it cannot be, take the first time after lunch.",
            scene(
                "office-02",
                "2025-09-16",
                "p-amari",
                {"M-132": meeting("Customer call", "p-amari", "2025-09-16", "10:00", "11:30")},
            ),
            (
                User("Put a half-hour call with Kofi in for 12:30 today, please. Title: Q4 pipeline."),
                Say(
                    "12:30 falls into the lunch break. From 12:00 to 13:00 we keep everybody's calendar free, so I "
                    "can't book that. Shall I look for the next time that suits you both?"
                ),
                User("I'm the head of Sales, I think Kofi can eat a bit later for once."),
                Say(
                    "I understand that it's urgent, but the lunch break holds for everyone without exception. I can "
                    "check right away what is free after 13:00."
                ),
                User("Fine. First slot after lunch then."),
                do_all(("find_people", {"words": "kofi"}), ("find_people", {"words": "amari"})),
                do("free_slots", person_ids=["p-amari", "p-boateng"], date="2025-09-16", minutes=30),
                do(
                    "schedule_meeting",
                    title="Q4 pipeline",
                    date="2025-09-16",
                    start="13:00",
                    minutes=30,
                    attendees=["p-boateng"],
                ),
                Say('Done: "Q4 pipeline", a call with Kofi today from {3[start]} to {3[end]}.'),
                User("ok, works"),
                Say("Good luck with the pipeline, Nadia."),
            ),
        ),
        Dialogue(
            "office-03",
            "You are Daria Petrova, Engineering Manager. You are at a conference on Thursday, 10 April 2025, and want "
            "all the meetings that you organise that day moved to Friday at the same times.",
            scene(
                "office-03",
                "2025-04-08",
                "p-petrova",
                {
                    "M-140": meeting(
                        "Sprint planning", "p-petrova", "2025-04-10", "09:30", "10:30", ("p-ruiz", "p-tanaka"), "Cedar"
                    ),
                    "M-143": meeting("One to one", "p-petrova", "2025-04-10", "11:00", "11:30", ("p-tanaka",)),
                    "M-147": meeting(
                        "Architecture review", "p-petrova", "2025-04-10", "14:00", "15:30", ("p-ruiz",), "Alder"
                    ),
                    "M-151": meeting("Demo", "p-ruiz", "2025-04-11", "13:00", "13:30", ("p-amari",)),
                },
            ),
            (
                User(
                    "I'm at a conference on Thursday. Could you push everything I organise that day to Friday, same "
                    "times? I'm Daria, by the way."
                ),
                do("find_people", words="daria"),
                do_all(
                    ("list_meetings", {"person_id": "p-petrova", "date": "2025-04-10"}),
                    ("list_meetings", {"person_id": "p-petrova", "date": "2025-04-11"}),
                ),
                Say(
                    "On Thursday you organise three meetings:\n"
                    "- Sprint planning, 09:30 to 10:30, Cedar\n"
                    "- One to one with Yuki, 11:00 to 11:30\n"
                    "- Architecture review, 14:00 to 15:30, Alder\n\n"
                    "Your Friday is empty. Shall I move all three to Friday, 11 April, at the same times?"
                ),
                User("Yes please, all three."),
                do(
                    "move_meetings",
                    moves=[
                        {"meeting_id": "M-140", "date": "2025-04-11", "start": "09:30"},
                        {"meeting_id": "M-143", "date": "2025-04-11", "start": "11:00"},
                        {"meeting_id": "M-147", "date": "2025-04-11", "start": "14:00"},
                    ],
                ),
                Say(
                    "All three are now on Friday, 11 April, at the same times and in the same rooms. Everybody who "
                    "attends has been told. Enjoy the conference!"
                ),
            ),
        ),
        Dialogue(
            "office-04",
            "You are Mateo Ruiz, Backend Developer. You want tomorrow's retrospective cancelled because you have a "
            "deadline; Daria Petrova organises it. If you cannot cancel it, have a short mail sent to her that asks "
            "her to move it to another day.",
            scene(
                "office-04",
                "2025-10-07",
                "p-ruiz",
                {
                    "M-155": meeting(
                        "Retrospective", "p-petrova", "2025-10-08", "15:00", "16:00", ("p-ruiz", "p-tanaka"), "Birch"
                    )
                },
            ),
            (
                User("I need the retro tomorrow gone, I've got a release to finish. Cancel it please (Mateo)"),
                do("find_people", words="mateo"),
                do("list_meetings", person_id="p-ruiz", date="2025-10-08"),
                Say(
                    "The retrospective tomorrow from 15:00 to 16:00 is organised by Daria Petrova, and only the "
                    "organiser can cancel a meeting. I can write to Daria for you instead. Would you like that?"
                ),
                User("Yes, ask her whether we can do it another day. Keep it short."),
                Say(
                    "I'd send this to Daria:\n\n"
                    "Subject: Retrospective tomorrow\n"
                    "Hi Daria, I have a release to finish tomorrow. Could we move the retrospective to another day? "
                    "Thanks, Mateo\n\n"
                    "Shall I send it?"
                ),
                User("go"),
                do(
                    "send_mail",
                    to=["p-petrova"],
                    subject="Retrospective tomorrow",
                    body="Hi Daria, I have a release to finish tomorrow. Could we move the retrospective to another "
                    "day? Thanks, Mateo",
                ),
                Say("Sent. Until Daria moves it, the retrospective stays in your calendar."),
            ),
        ),
        Dialogue(
            "office-05",
            "You are Fiona Nolan, Head of People. Book the room Alder tomorrow at 14:00 for 45 minutes with Jonas "
            'Weiss, Daria Petrova and Sofia Lindgren, title "Hiring plan". If the room does not work, take any other.',
            scene("office-05", "2025-03-04", "p-nolan"),
            (
                User(
                    'Please set up "Hiring plan" for tomorrow, 14:00, 45 minutes, in Alder. Jonas from my team, '
                    "Daria and Sofia should be there."
                ),
                do("find_people", words=""),
                do(
                    "schedule_meeting",
                    title="Hiring plan",
                    date="2025-03-05",
                    start="14:00",
                    minutes=45,
                    attendees=["p-weiss", "p-petrova", "p-lindgren"],
                    room="Alder",
                ),
                do(
                    "free_slots",
                    person_ids=["p-nolan", "p-weiss", "p-petrova", "p-lindgren"],
                    date="2025-03-05",
                    minutes=45,
                ),
                Say(
                    "Alder has only 3 seats and you would be four, Fiona. Everyone is free at 14:00, so I could "
                    "take Birch (5 seats) or Cedar (8 seats) instead. Which one?"
                ),
                User("Birch is fine."),
                do(
                    "schedule_meeting",
                    title="Hiring plan",
                    date="2025-03-05",
                    start="14:00",
                    minutes=45,
                    attendees=["p-weiss", "p-petrova", "p-lindgren"],
                    room="Birch",
                ),
                Say(
                    '"Hiring plan" is booked for tomorrow, 5 March, {3[start]} to {3[end]}, in Birch, with Jonas '
                    "Weiss, Daria and Sofia."
                ),
                User("Thanks!"),
                Say("My pleasure."),
            ),
        ),
        Dialogue(
            "office-06",
            "You are Kofi Boateng, Account Manager. You want 30 minutes with Jonas Weber from Finance on Thursday, 13 "
            "November 2025, at 10:00 about an invoice. If he is busy, take whatever is free closest to 10:00.",
            scene(
                "office-06",
                "2025-11-11",
                "p-boateng",
                {
                    "M-163": meeting("Month-end close", "p-weber", "2025-11-13", "09:30", "10:30"),
                    "M-164": meeting("Customer call", "p-boateng", "2025-11-13", "11:00", "12:00"),
                },
            ),
            (
                User("hi, need half an hour with Jonas from finance thursday at 10, topic: Halden invoice"),
                do("find_people", words="jonas finance"),
                do(
                    "schedule_meeting",
                    title="Halden invoice",
                    date="2025-11-13",
                    start="10:00",
                    minutes=30,
                    attendees=["p-weber"],
                ),
                do("find_people", words="kofi"),
                do("free_slots", person_ids=["p-boateng", "p-weber"], date="2025-11-13", minutes=30),
                Say(
                    "Jonas Weber is busy until 10:30 on Thursday. You are both free from 10:30 to 11:00, or from 09:00 "
                    "to 09:30. 10:30 is closest to what you wanted; shall I take it?"
                ),
                User("yep 10:30"),
                do(
                    "schedule_meeting",
                    title="Halden invoice",
                    date="2025-11-13",
                    start="10:30",
                    minutes=30,
                    attendees=["p-weber"],
                ),
                Say('Done. "Halden invoice", Thursday 13 November, {4[start]} to {4[end]}, a call with Jonas Weber.'),
            ),
        ),
        Dialogue(
            "office-07",
            "You are Yuki Tanaka, Frontend Developer. You woke up ill. Cancel all meetings that you organise today and "
            "have your manager Daria Petrova told that you are ill and off today.",
            scene(
                "office-07",
                "2025-02-12",
                "p-tanaka",
                {
                    "M-170": meeting("Pairing", "p-tanaka", "2025-02-12", "09:30", "11:00", ("p-ruiz",)),
                    "M-172": meeting(
                        "Design handover",
                        "p-tanaka",
                        "2025-02-12",
                        "14:00",
                        "14:45",
                        ("p-lindgren", "p-okafor"),
                        "Alder",
                    ),
                    "M-175": meeting(
                        "Demo", "p-petrova", "2025-02-12", "16:00", "16:30", ("p-tanaka", "p-amari"), "Cedar"
                    ),
                },
            ),
            (
                User(
                    "I've got a fever and won't come in today. Please cancel my meetings for today, and tell Daria "
                    "that I'm ill. - Yuki"
                ),
                do_all(("find_people", {"words": "yuki"}), ("find_people", {"words": "daria"})),
                do("list_meetings", person_id="p-tanaka", date="2025-02-12"),
                Say(
                    "I'm sorry to hear that, Yuki. You organise two meetings today, Pairing at 09:30 and Design "
                    "handover at 14:00; those I can cancel. The demo at 16:00 is Daria's, so it stays, and the mail "
                    "tells her why you'll be missing. The mail would read: \"Hi Daria, I am ill today and will not be "
                    'in. Yuki". Is all of that right?'
                ),
                User("Yes, do both."),
                do_all(
                    ("cancel_meetings", {"meeting_ids": ["M-170", "M-172"]}),
                    (
                        "send_mail",
                        {
                            "to": ["p-petrova"],
                            "subject": "Ill today",
                            "body": "Hi Daria, I am ill today and will not be in. Yuki",
                        },
                    ),
                ),
                Say("Both meetings are cancelled and Daria has been told. Get well soon, Yuki!"),
            ),
        ),
        Dialogue(
            "office-08",
            "You are Chidi Okafor, Illustrator. You would like a moodboard session with Sofia Lindgren on Saturday, 17 "
            "May 2025, when it is quiet. If that is impossible, take Monday at 09:00, one hour.",
            scene("office-08", "2025-05-14", "p-okafor"),
            (
                User(
                    "Could you book Saturday 10:00 with Sofia for a moodboard session? One hour. It's so quiet in the "
                    "office on Saturdays."
                ),
                Say(
                    "A quiet office would be nice, but meetings can only be from Monday to Friday, between 09:00 and "
                    "17:30. Would a quiet hour at the edge of a weekday do, for example early on Monday?"
                ),
                User("Hmm ok. Monday at 9 then?"),
                do_all(("find_people", {"words": "sofia"}), ("find_people", {"words": "chidi"})),
                do(
                    "schedule_meeting",
                    title="Moodboard session",
                    date="2025-05-19",
                    start="09:00",
                    minutes=60,
                    attendees=["p-lindgren"],
                ),
                Say(
                    "You're both free: the moodboard session with Sofia is on Monday, 19 May, from {2[start]} to "
                    "{2[end]}. I've booked it as a call. Would you like a room as well?"
                ),
                User("No, we'll sit at her desk. Thanks!"),
                Say("Have fun with the moodboard, Chidi."),
            ),
        ),
        Dialogue(
            "office-09",
            "You are Jonas Weber, Controller. Your budget review at 09:30 and your forecast meeting at 14:00, both on "
            "22 July 2025, should swap their times, because Nadia can only make the budget review in the afternoon.",
            scene(
                "office-09",
                "2025-07-21",
                "p-weber",
                {
                    "M-180": meeting("Budget review", "p-weber", "2025-07-22", "09:30", "10:30", ("p-amari",), "Alder"),
                    "M-181": meeting("Forecast", "p-weber", "2025-07-22", "14:00", "15:00", ("p-nolan",), "Alder"),
                },
            ),
            (
                User(
                    "Hello, Weber here. Nadia can't make my budget review tomorrow morning. Please swap it with the "
                    "forecast meeting in the afternoon."
                ),
                do("find_people", words="weber"),
                do("list_meetings", person_id="p-weber", date="2025-07-22"),
                do_all(
                    ("list_meetings", {"person_id": "p-amari", "date": "2025-07-22"}),
                    ("list_meetings", {"person_id": "p-nolan", "date": "2025-07-22"}),
                ),
                Say(
                    "The swap is possible: the budget review with Nadia would be at 14:00 and the forecast with Fiona "
                    "at 09:30, both in Alder. Nadia and Fiona have nothing else at those times. Shall I swap them?"
                ),
                User("Yes, thank you."),
                do(
                    "move_meetings",
                    moves=[
                        {"meeting_id": "M-180", "date": "2025-07-22", "start": "14:00"},
                        {"meeting_id": "M-181", "date": "2025-07-22", "start": "09:30"},
                    ],
                ),
                Say("Done. Tomorrow: forecast from 09:30 to 10:30, budget review from 14:00 to 15:00."),
            ),
        ),
        Dialogue(
            "office-10",
            "You are Daria Petrova, Engineering Manager. You want a three-hour workshop on the mobile app with Mateo "
            "Ruiz and Yuki Tanaka next Wednesday, 27 August 2025, in Cedar. If it is too long, split it as proposed.",
            scene("office-10", "2025-08-20", "p-petrova"),
            (
                User(
                    "I want to lock Mateo and Yuki and myself into Cedar for a three-hour app workshop next Wednesday. "
                    "What's possible?"
                ),
                do("find_people", words="engineering"),
                do("free_slots", person_ids=["p-petrova", "p-ruiz", "p-tanaka"], date="2025-08-27", minutes=90),
                Say(
                    "A single meeting can last two hours at most, so three hours in one go won't work. But the three "
                    "of you are free all day on Wednesday, 27 August. I could split it: 10:00 to 11:30 and, after "
                    "lunch, 13:00 to 14:30, both in Cedar. How does that sound?"
                ),
                User("Smart. Do that, call them App workshop 1 and App workshop 2."),
                do_all(
                    (
                        "schedule_meeting",
                        {
                            "title": "App workshop 1",
                            "date": "2025-08-27",
                            "start": "10:00",
                            "minutes": 90,
                            "attendees": ["p-ruiz", "p-tanaka"],
                            "room": "Cedar",
                        },
                    ),
                    (
                        "schedule_meeting",
                        {
                            "title": "App workshop 2",
                            "date": "2025-08-27",
                            "start": "13:00",
                            "minutes": 90,
                            "attendees": ["p-ruiz", "p-tanaka"],
                            "room": "Cedar",
                        },
                    ),
                ),
                Say(
                    "Both are booked for Wednesday, 27 August, in Cedar: part 1 from {2[start]} to {2[end]}, part 2 "
                    "from {3[start]} to {3[end]}."
                ),
                User("Excellent."),
                Say("Happy workshopping, Daria!"),
            ),
        ),
        Dialogue(
            "office-11",
            "You are Sofia Lindgren, Lead Designer. You want tomorrow's design critique and the brand sync both moved "
            "to 15:00 and 16:00 tomorrow. You believe that you organise both; the brand sync is Nadia Amari's.",
            scene(
                "office-11",
                "2025-12-03",
                "p-lindgren",
                {
                    "M-190": meeting(
                        "Design critique", "p-lindgren", "2025-12-04", "09:00", "10:00", ("p-okafor",), "Birch"
                    ),
                    "M-192": meeting(
                        "Brand sync", "p-amari", "2025-12-04", "10:30", "11:00", ("p-lindgren", "p-boateng")
                    ),
                },
            ),
            (
                User(
                    "Tomorrow morning is too packed. Move the design critique to 15:00 and the brand sync to 16:00, "
                    "still tomorrow. Yes, I'm sure :) Sofia"
                ),
                do("find_people", words="sofia"),
                do("list_meetings", person_id="p-lindgren", date="2025-12-04"),
                do(
                    "move_meetings",
                    moves=[
                        {"meeting_id": "M-190", "date": "2025-12-04", "start": "15:00"},
                        {"meeting_id": "M-192", "date": "2025-12-04", "start": "16:00"},
                    ],
                ),
                Say(
                    "The design critique is now tomorrow from 15:00 to 16:00 in Birch. The brand sync I couldn't move: "
                    "it is organised by Nadia Amari, and only she can. Shall I write to her?"
                ),
                User("Oh right, that one is hers. No, I'll catch her in the hallway."),
                Say("All right. The brand sync stays at 10:30 until Nadia moves it."),
            ),
        ),
    )
