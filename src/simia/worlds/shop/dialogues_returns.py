"""Scripted conversations in the shop: returns, goodwill, other people's data, handing over."""

from simia.types import JsonObject
from simia.worlds.dialogue import Dialogue, Say, User, do, do_all
from simia.worlds.shop.dialogues_orders import scene
from simia.worlds.shop.states import address, customer, order

_BRISTOL = address("31 Old Bridge Road", "Bristol", "BS3 2LG")
_LEEDS = address("120 Station Road", "Leeds", "LS4 3HH")
_CARDIFF = address("5 Harbour Row", "Cardiff", "CF11 9LJ")
_NORWICH = address("46 Orchard Way", "Norwich", "NR3 4PT")


def _with_goodwill(placed: JsonObject, amount: float) -> JsonObject:
    return {**placed, "goodwill": amount}


def return_dialogues() -> tuple[Dialogue, ...]:
    """Ten conversations about what was delivered, and about what cannot be done."""
    return (
        Dialogue(
            "shop-11",
            "You are Noor van Dijk (noor.vandijk@example.com). The ceramic teapot of order NL-4260 drips. You want to "
            "send it back and prefer store credit, because you will order something else soon.",
            scene(
                "shop-11",
                "2025-05-27",
                {"C-541": customer("Noor van Dijk", "noor.vandijk@example.com", _BRISTOL, "6624", 5.0)},
                {
                    "NL-4260": order(
                        "C-541", "delivered", "2025-05-12", {"KT-142": 1, "KT-165": 1}, _BRISTOL, "2025-05-15"
                    )
                },
            ),
            (
                User("Hello, the teapot I got from you drips every time I pour. I'd like to return it."),
                Say(
                    "That's annoying, I'm sorry. Could you give me the e-mail address of your account and, if you have "
                    "it, the order number?"
                ),
                User("noor.vandijk@example.com, and the order is NL-4260."),
                do_all(
                    ("find_customer", {"email": "noor.vandijk@example.com"}),
                    ("get_order", {"order_id": "NL-4260"}),
                ),
                Say(
                    "Thank you, Noor. The order was delivered on 15 May, so the teapot can be returned. You'd get "
                    "28.00 back. Would you like it on your card or as store credit? And the bread knife stays with "
                    "you, correct?"
                ),
                User("Store credit is better, I'm going to order something else anyway. Yes, I keep the knife."),
                do("return_items", order_id="NL-4260", skus=["KT-142"], refund_to="store_credit"),
                Say(
                    "The return is registered as {2[return_id]} and {2[refund]:.2f} have been added to your store "
                    "credit, which is now 33.00. Please put the return number into the parcel."
                ),
                User("Will do. Thanks!"),
                Say("Thank you, Noor. Here's to a teapot that doesn't drip."),
            ),
        ),
        Dialogue(
            "shop-12",
            "You are Victor Almeida (v.almeida@example.com). You want to return the hammock of order NL-4127, which "
            "you have had for about two months. Insist when told that it is too late, but accept it in the end.",
            scene(
                "shop-12",
                "2025-08-05",
                {"C-288": customer("Victor Almeida", "v.almeida@example.com", _LEEDS, "3871")},
                {"NL-4127": order("C-288", "delivered", "2025-05-28", {"OD-402": 1}, _LEEDS, "2025-06-01")},
            ),
            (
                User("I want to return my hammock, order NL-4127. Email v.almeida@example.com"),
                do_all(
                    ("find_customer", {"email": "v.almeida@example.com"}),
                    ("get_order", {"order_id": "NL-4127"}),
                ),
                Say(
                    "Thanks, Victor. I see the hammock in NL-4127. It was delivered on 1 June, more than 30 days ago, "
                    "and returns are only possible within 30 days of delivery. So I can't take it back, I'm sorry."
                ),
                User(
                    "Come on, it's never been used. It's still in the box. You'd make an exception for a loyal "
                    "customer, no?"
                ),
                Say(
                    "I do see your point, and an unused hammock makes it the more frustrating. But the 30 days hold "
                    "for every order, used or unused, and I can't make an exception."
                ),
                User("Then give me some store credit at least."),
                Say(
                    "Store credit is something I can give when an order arrives late or damaged, and nothing like that "
                    "happened here as far as I know. So I have to say no to that as well. Is there anything else I can "
                    "look up for you?"
                ),
                User("No. I'll sell it online then."),
                Say("I hope it finds a good home. All the best, Victor."),
            ),
        ),
        Dialogue(
            "shop-13",
            "You are Rosalind Achebe (rosalind.achebe@example.com). From order NL-4340 you want to return the wicker "
            "basket and the reading lamp, refund to the card. If the basket cannot go back, return the lamp only.",
            scene(
                "shop-13",
                "2025-06-24",
                {"C-606": customer("Rosalind Achebe", "rosalind.achebe@example.com", _NORWICH, "7315")},
                {
                    "NL-4340": order(
                        "C-606", "delivered", "2025-06-10", {"CL-508": 1, "LT-204": 2}, _NORWICH, "2025-06-13"
                    )
                },
            ),
            (
                User(
                    "Good afternoon. I'd like to send two things back from order NL-4340, the basket and the reading "
                    "lamps. Refund to my card please. My e-mail is rosalind.achebe@example.com."
                ),
                do("find_customer", email="rosalind.achebe@example.com"),
                do("get_order", order_id="NL-4340"),
                do("return_items", order_id="NL-4340", skus=["CL-508", "LT-204"], refund_to="original_payment"),
                Say(
                    "Good afternoon, Rosalind. The wicker basket is from last season's clearance, which is final "
                    "sale, so it can't come back. The two clip-on reading lamps can: that would be 35.00 to your card. "
                    "Shall I register the lamps alone?"
                ),
                User("I didn't realise that about the basket. Well, then just the lamps."),
                do("return_items", order_id="NL-4340", skus=["LT-204"], refund_to="original_payment"),
                Say(
                    "That's done. Your return number is {3[return_id]}, and {3[refund]:.2f} will go back to your card. "
                    "Please send both lamps."
                ),
                User("Thank you for your help."),
                Say("You're very welcome, Rosalind."),
            ),
        ),
        Dialogue(
            "shop-14",
            "You are Felix Brandt (felix.brandt@example.com). Your order NL-4471 came a week late, just after the "
            "camping trip it was meant for. Complain; if something is offered, take it.",
            scene(
                "shop-14",
                "2025-07-15",
                {"C-359": customer("Felix Brandt", "felix.brandt@example.com", _CARDIFF, "5582")},
                {
                    "NL-4471": order(
                        "C-359", "delivered", "2025-07-01", {"OD-433": 2, "OD-419": 2}, _CARDIFF, "2025-07-14"
                    )
                },
            ),
            (
                User(
                    "So my camping stools finally showed up yesterday. The trip was on the weekend!! Two weeks for a "
                    "delivery, what is this?"
                ),
                Say(
                    "I'm sorry, that is really bad timing. Let me look into it. Which e-mail address is your account "
                    "under, and do you have the order number at hand?"
                ),
                User("felix.brandt@example.com / NL-4471"),
                do_all(
                    ("find_customer", {"email": "felix.brandt@example.com"}),
                    ("get_order", {"order_id": "NL-4471"}),
                ),
                Say(
                    "Thank you, Felix. I can see it: placed on 1 July, delivered only on 14 July. I apologise. For "
                    "the late delivery I can give you 15.00 of store credit. Is that all right? And if the things "
                    "are of no use to you any more, you can still return them."
                ),
                User("Hm. OK, I'll take the credit. We'll go again in August, so I keep everything."),
                do("give_store_credit", order_id="NL-4471", amount=15, reason="late"),
                Say(
                    "Your store credit is now {2[store_credit]:.2f}. Thank you for your patience, Felix, and I hope "
                    "August is dry."
                ),
            ),
        ),
        Dialogue(
            "shop-15",
            "You are Bianca Torres (bianca.torres@example.com). A plant pot got scratched in order NL-4218 and you "
            "already received 10.00 for it. You want 50.00 more. Give up if it is refused twice.",
            scene(
                "shop-15",
                "2025-09-30",
                {"C-722": customer("Bianca Torres", "bianca.torres@example.com", _BRISTOL, "2047", 10.0)},
                {
                    "NL-4218": _with_goodwill(
                        order("C-722", "delivered", "2025-09-15", {"GD-327": 1}, _BRISTOL, "2025-09-19"), 10.0
                    )
                },
            ),
            (
                User(
                    "Hi, Bianca here (bianca.torres@example.com). You gave me a tenner for the scratched planter in "
                    "NL-4218 but honestly the scratch is huge. I think 50 more would be fair."
                ),
                do("find_customer", email="bianca.torres@example.com"),
                do("get_order", order_id="NL-4218"),
                Say(
                    "Hi Bianca. I'm sorry the planter arrived scratched. For this order you have had 10.00 of "
                    "goodwill credit, and we can give that only once per order, so I can't add to it. What I can "
                    "do: the planter was delivered on 19 September, so you may return it for the full 79.50."
                ),
                User("I don't want to send back a huge box. Just 30 then?"),
                Say(
                    "I understand that it's bulky, but I can't give a second credit for the same order, whatever the "
                    "amount. The return stays open until 19 October if you change your mind."
                ),
                User("Alright, I'll paint over it. Bye"),
                Say("A coat of paint may well do it. Bye, Bianca, and sorry again for the scratch."),
            ),
        ),
        Dialogue(
            "shop-16",
            "You are Gregor Nilsen (gregor.nilsen@example.com). You want to know what your wife Liv ordered for your "
            "birthday; her e-mail is liv.nilsen@example.com. If you are refused, ask about your own pending orders.",
            scene(
                "shop-16",
                "2025-10-21",
                {
                    "C-433": customer("Gregor Nilsen", "gregor.nilsen@example.com", _NORWICH, "1186"),
                    "C-434": customer("Liv Nilsen", "liv.nilsen@example.com", _NORWICH, "9920"),
                },
                {
                    "NL-4812": order("C-434", "pending", "2025-10-20", {"KT-110": 1}, _NORWICH),
                    "NL-4790": order("C-433", "pending", "2025-10-18", {"LT-204": 1}, _NORWICH),
                },
            ),
            (
                User(
                    "Hi, my wife Liv ordered something from you yesterday, liv.nilsen@example.com. Can you tell me "
                    "what it is? We share everything, it's fine."
                ),
                Say(
                    "Hello! I can only talk about orders with the holder of the account, so I can't tell you anything "
                    "about another person's orders, not even within the family. If you have an account of your own, "
                    "I'm glad to help with that; I'd need its e-mail address."
                ),
                User(
                    "Worth a try, my birthday is coming up :) Mine is gregor.nilsen@example.com. Anything still open?"
                ),
                do("find_customer", email="gregor.nilsen@example.com"),
                do("list_orders", customer_id="C-433", status="pending"),
                Say(
                    "Nice try, Gregor! In your own account there is one pending order: NL-4790 from 18 October, one "
                    "clip-on reading lamp for 17.50. It has not been sent yet."
                ),
                User("Good, that one I know. Thanks"),
                Say("You're welcome. And happy birthday in advance!"),
            ),
        ),
        Dialogue(
            "shop-17",
            "You are Wendy Cheng (wendy.cheng@example.com). The floor lamp of order NL-4299 smoked and sparked when "
            "you switched it on. You are frightened and want to speak to somebody now.",
            scene(
                "shop-17",
                "2025-11-06",
                {"C-266": customer("Wendy Cheng", "wendy.cheng@example.com", _LEEDS, "6473")},
                {"NL-4299": order("C-266", "delivered", "2025-10-28", {"LT-231": 1}, _LEEDS, "2025-11-01")},
            ),
            (
                User(
                    "The lamp you sent me just sparked and there is smoke!! I pulled the plug. Is it dangerous? I need "
                    "to talk to a person. wendy.cheng@example.com"
                ),
                do("find_customer", email="wendy.cheng@example.com"),
                do("list_orders", customer_id="C-266", status="delivered"),
                do(
                    "hand_over_to_human",
                    customer_id="C-266",
                    summary="Paper floor lamp of order NL-4299 sparked and smoked when switched on; it is unplugged. "
                    "The customer is worried and wants to speak to somebody.",
                ),
                Say(
                    "Pulling the plug was exactly right, Wendy. Please leave the lamp unplugged, keep away from it, "
                    "and if there is still smoke, leave the room and call the fire service. I have handed your case to "
                    "a colleague, number {2[handover_id]}; someone will be with you in about {2[waiting_minutes]} "
                    "minutes."
                ),
                User("Ok. The smoke is gone. I'll wait for them, thank you"),
                Say("I'm glad to hear that. Please stay in this conversation; my colleague knows what happened."),
            ),
        ),
        Dialogue(
            "shop-18",
            "You are Matteo Ricci (matteo.ricci@example.com). You want to swap the insulated bottle of order NL-4356 "
            "for a kitchen scale. If there is no swapping, return the one and buy the other, paid with what you get.",
            scene(
                "shop-18",
                "2025-04-30",
                {"C-508": customer("Matteo Ricci", "matteo.ricci@example.com", _CARDIFF, "8051")},
                {"NL-4356": order("C-508", "delivered", "2025-04-14", {"OD-419": 1}, _CARDIFF, "2025-04-17")},
                {"KT-190": 7},
            ),
            (
                User("Can I exchange a bottle for a kitchen scale?"),
                Say(
                    "We don't have direct exchanges, but you can return the bottle and order the scale with the "
                    "refund. To check both I need the e-mail address of your account."
                ),
                User("ok. matteo.ricci@example.com, the bottle was NL-4356"),
                do_all(
                    ("find_customer", {"email": "matteo.ricci@example.com"}),
                    ("get_order", {"order_id": "NL-4356"}),
                    ("search_products", {"words": "kitchen scale"}),
                ),
                Say(
                    "That works out, Matteo. The bottle (21.50) was delivered on 17 April and can be returned. If you "
                    "take the refund as store credit, it covers the digital kitchen scale at 19.75, and 1.75 of "
                    "credit is left. Shall I do both?"
                ),
                User("yes do both"),
                do("return_items", order_id="NL-4356", skus=["OD-419"], refund_to="store_credit"),
                do(
                    "place_order",
                    customer_id="C-508",
                    items=[{"sku": "KT-190", "quantity": 1}],
                    payment_method="store_credit",
                ),
                Say(
                    "Done. Return {3[return_id]} for the bottle is registered, and the scale is on its way as order "
                    "{4[order_id]}, paid with store credit. You have {4[store_credit_left]:.2f} left. Please send the "
                    "bottle with the return number inside."
                ),
                User("great thx"),
                Say("You're welcome, Matteo!"),
            ),
        ),
        Dialogue(
            "shop-19",
            "You are Aisha Karimi. You mistype your e-mail as aisha.karimi@exmaple.com at first; the right one is "
            "aisha.karimi@example.com. You want everything from NL-4402 and NL-4417 returned to your card.",
            scene(
                "shop-19",
                "2025-06-03",
                {"C-675": customer("Aisha Karimi", "aisha.karimi@example.com", _BRISTOL, "4938")},
                {
                    "NL-4402": order(
                        "C-675", "delivered", "2025-05-09", {"GD-301": 1, "GD-344": 1}, _BRISTOL, "2025-05-13"
                    ),
                    "NL-4417": order("C-675", "delivered", "2025-05-15", {"LT-258": 2}, _BRISTOL, "2025-05-19"),
                },
            ),
            (
                User(
                    "I'm giving up my garden, so I'd like to return everything from my last two orders, NL-4402 and "
                    "NL-4417. aisha.karimi@exmaple.com"
                ),
                do("find_customer", email="aisha.karimi@exmaple.com"),
                Say(
                    "I can't find an account under aisha.karimi@exmaple.com. Could there be a typo in the part after "
                    "the @?"
                ),
                User("Oh yes, sorry: aisha.karimi@example.com"),
                do_all(
                    ("find_customer", {"email": "aisha.karimi@example.com"}),
                    ("get_order", {"order_id": "NL-4402"}),
                    ("get_order", {"order_id": "NL-4417"}),
                ),
                Say(
                    "Found you, thank you. Both orders were delivered within the last 30 days, so everything can be "
                    "returned:\n"
                    "- NL-4402: pruning shears and garden hose, 58.75\n"
                    "- NL-4417: two sets of solar garden lights, 62.50\n\n"
                    "Should the money go back to your card or to store credit?"
                ),
                User("Card, please, for both."),
                do_all(
                    (
                        "return_items",
                        {"order_id": "NL-4402", "skus": ["GD-301", "GD-344"], "refund_to": "original_payment"},
                    ),
                    ("return_items", {"order_id": "NL-4417", "skus": ["LT-258"], "refund_to": "original_payment"}),
                ),
                Say(
                    "Both returns are registered, {4[return_id]} for NL-4402 and {5[return_id]} for NL-4417. "
                    "{4[refund]:.2f} and {5[refund]:.2f} go back to your card."
                ),
                User("That was easy. Thank you."),
                Say("Thank you, Aisha. All the best!"),
            ),
        ),
        Dialogue(
            "shop-20",
            "You are Lukas Ferreira (lukas.f@example.com). You do your accounts and want to know which of your orders "
            "were delivered this year and what they cost. You change nothing.",
            scene(
                "shop-20",
                "2025-12-01",
                {"C-590": customer("Lukas Ferreira", "lukas.f@example.com", _NORWICH, "7703")},
                {
                    "NL-4150": order("C-590", "delivered", "2025-03-10", {"KT-190": 1}, _NORWICH, "2025-03-13"),
                    "NL-4233": order("C-590", "cancelled", "2025-05-02", {"LT-231": 1}, _NORWICH),
                    "NL-4686": order(
                        "C-590", "delivered", "2025-10-12", {"OD-470": 1, "OD-419": 1}, _NORWICH, "2025-10-16"
                    ),
                },
            ),
            (
                User(
                    "Hello, for my bookkeeping: which orders did I get from you this year, and for how much? "
                    "lukas.f@example.com"
                ),
                do("find_customer", email="lukas.f@example.com"),
                do("list_orders", customer_id="C-590"),
                Say(
                    "Hello Lukas, these were delivered:\n"
                    "- NL-4150, placed on 10 March: 1 digital kitchen scale, 19.75\n"
                    "- NL-4686, placed on 12 October: 1 waterproof picnic blanket and 1 insulated bottle, 54.50\n\n"
                    "There is a third order, NL-4233 for 64.00, but it was cancelled and refunded."
                ),
                User("And was the cancelled one paid by card?"),
                do("get_order", order_id="NL-4233"),
                Say("Yes, NL-4233 was paid with the card on file, and all 64.00 were refunded."),
                User("That's all I needed."),
                Say("Glad I could help. Happy bookkeeping, Lukas!"),
            ),
        ),
    )
