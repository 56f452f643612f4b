"""Scripted conversations in the shop: cancelling, addresses, new orders, questions."""

from datetime import date

from simia.config import rng_for
from simia.types import JsonObject, State
from simia.worlds.dialogue import Dialogue, Say, User, do, do_all
from simia.worlds.shop.states import address, customer, draw_state, order


def scene(
    name: str,
    today: str,
    customers: dict[str, JsonObject],
    orders: dict[str, JsonObject],
    stock: dict[str, int] | None = None,
) -> State:
    """A drawn shop with these customers and orders in it. Where ``stock`` is silent, twelve of everything."""
    state = draw_state(rng_for(2025, name), date.fromisoformat(today), customers=2, orders=3)
    state["customers"] = {**state["customers"], **customers}
    state["orders"] = dict(sorted({**state["orders"], **orders}.items()))
    for sku, product in state["products"].items():
        product["stock"] = (stock or {}).get(sku, 12)
    return state


_BRISTOL = address("14 Harbour Row", "Bristol", "BS1 4QA")
_LEEDS = address("7 Orchard Way", "Leeds", "LS6 2AB")
_CARDIFF = address("88 Chapel Street", "Cardiff", "CF10 3NP")
_NORWICH = address("3 Mill Lane", "Norwich", "NR2 1TF")


def order_dialogues() -> tuple[Dialogue, ...]:
    """Ten conversations about orders that are not yet delivered, and about new ones."""
    return (
        Dialogue(
            "shop-01",
            "You are Marta Kowal (marta.kowal@example.com). You are moving abroad next week and want to cancel all "
            "your orders that have not been sent yet. Ask how much you get back in total.",
            scene(
                "shop-01",
                "2025-04-09",
                {"C-318": customer("Marta Kowal", "marta.kowal@example.com", _BRISTOL, "4471")},
                {
                    "NL-4702": order("C-318", "pending", "2025-04-07", {"LT-231": 1, "KT-142": 2}, _BRISTOL),
                    "NL-4719": order("C-318", "pending", "2025-04-08", {"GD-327": 1}, _BRISTOL),
                    "NL-4533": order("C-318", "delivered", "2025-03-11", {"OD-419": 2}, _BRISTOL, "2025-03-14"),
                },
            ),
            (
                User(
                    "Hi, I'm leaving the country next week and I need everything I still have on order cancelled, "
                    "please. I won't be here to receive it."
                ),
                Say(
                    "I can help with that. Which e-mail address is your account registered under, so I can find your "
                    "orders?"
                ),
                User("marta.kowal@example.com"),
                do("find_customer", email="marta.kowal@example.com"),
                do("list_orders", customer_id="C-318", status="pending"),
                Say(
                    "Thank you, Marta. Two of your orders have not been sent yet:\n"
                    "- NL-4702: 1 paper floor lamp and 2 ceramic teapots, 120.00\n"
                    "- NL-4719: 1 raised planter box, 79.50\n\n"
                    "Shall I cancel both because you changed your mind? The money goes back to the card you paid with."
                ),
                User("Yes, both please. How much is that altogether?"),
                do(
                    "cancel_orders",
                    customer_id="C-318",
                    order_ids=["NL-4702", "NL-4719"],
                    reason="changed_mind",
                ),
                Say(
                    "Both orders are cancelled. You get back {2[total_refund]:.2f} in total, to your card on file. "
                    "Good luck with the move!"
                ),
                User("Perfect, thanks."),
                Say("You're welcome, Marta. Safe travels."),
            ),
        ),
        Dialogue(
            "shop-02",
            "You are Tobias Lindqvist (t.lindqvist@example.com). Your order NL-4388 should go to your office, "
            "52 Station Road, Leeds, LS1 5QS, because nobody is at home during the day.",
            scene(
                "shop-02",
                "2025-05-20",
                {"C-427": customer("Tobias Lindqvist", "t.lindqvist@example.com", _LEEDS, "9035")},
                {"NL-4388": order("C-427", "pending", "2025-05-19", {"OD-402": 1, "OD-433": 2}, _LEEDS)},
            ),
            (
                User(
                    "Hello! Could you send order NL-4388 to my office instead of my flat? Account is "
                    "t.lindqvist@example.com, and the office is 52 Station Road, Leeds, LS1 5QS."
                ),
                do_all(
                    ("find_customer", {"email": "t.lindqvist@example.com"}),
                    ("get_order", {"order_id": "NL-4388"}),
                    say="Let me look at your account and the order.",
                ),
                do(
                    "change_shipping_address",
                    order_id="NL-4388",
                    address={"street": "52 Station Road", "city": "Leeds", "postcode": "LS1 5QS"},
                ),
                Say(
                    "Done, Tobias. The order was still pending, so the hammock and the two camp stools will now go "
                    "to 52 Station Road, Leeds, LS1 5QS. The address in your account has not been touched."
                ),
                User("Brilliant, that was quick."),
                Say("Glad to help. Enjoy the hammock!"),
            ),
        ),
        Dialogue(
            "shop-03",
            "You are Priyanka Rao (priyanka.rao@example.com). Your order NL-4610 is on its way, but you are on "
            "holiday. Try to have it rerouted to your sister at 9 Quay Street, Cardiff, CF10 5EA. If that is "
            "impossible, ask what you can do instead.",
            scene(
                "shop-03",
                "2025-07-28",
                {"C-552": customer("Priyanka Rao", "priyanka.rao@example.com", _NORWICH, "2210")},
                {"NL-4610": order("C-552", "shipped", "2025-07-24", {"GD-344": 1, "GD-301": 1}, _NORWICH)},
            ),
            (
                User(
                    "I'm away for two weeks and my parcel is coming to an empty house. Can you redirect it to my "
                    "sister? It's order NL-4610."
                ),
                Say("I'll check what is possible. May I have the e-mail address of your account first?"),
                User("Sure: priyanka.rao@example.com. My sister is at 9 Quay Street, Cardiff, CF10 5EA."),
                do_all(
                    ("find_customer", {"email": "priyanka.rao@example.com"}),
                    ("get_order", {"order_id": "NL-4610"}),
                ),
                Say(
                    "I'm sorry, Priyanka. NL-4610 (garden hose and pruning shears) has already been shipped, and a "
                    "parcel that is on its way cannot be rerouted. I can only change the address of an order while "
                    "it is still pending."
                ),
                User("Really no way? You could just ring the driver."),
                Say(
                    "I understand, but we have no way to change a shipped parcel, so I can't promise you that. Once it "
                    "counts as delivered you have 30 days to send the items back if you no longer want them, and the "
                    "refund can go to your card or to store credit. Perhaps a neighbour can take the parcel in?"
                ),
                User("OK, I'll ask next door. Thanks for being straight with me."),
                Say("Thank you for understanding, Priyanka. Enjoy the rest of your holiday."),
            ),
        ),
        Dialogue(
            "shop-04",
            "You are Owen Prescott (owen.prescott@example.com). You want to know where your hammock is. You believe "
            "that the order number is NL-4651, but two digits are swapped; you only notice when told.",
            scene(
                "shop-04",
                "2025-06-17",
                {"C-264": customer("Owen Prescott", "owen.prescott@example.com", _CARDIFF, "7782")},
                {
                    "NL-4615": order("C-264", "shipped", "2025-06-12", {"OD-402": 1}, _CARDIFF),
                    "NL-4198": order("C-264", "delivered", "2025-05-02", {"KT-165": 1}, _CARDIFF, "2025-05-05"),
                },
            ),
            (
                User("where is my hammock?? order NL-4651, owen.prescott@example.com"),
                do("find_customer", email="owen.prescott@example.com"),
                do("get_order", order_id="NL-4651"),
                do("list_orders", customer_id="C-264"),
                Say(
                    "Hi Owen, there is no order NL-4651, but in your account I see NL-4615 with one two-person "
                    "hammock, placed on 12 June. Is that the one?"
                ),
                User("oh, yes. mixed up the digits"),
                Say(
                    "No problem. NL-4615 has been shipped and is on its way to you; it has not been delivered yet. I "
                    "have no more precise tracking than that."
                ),
                User("ok cool, then I'll wait"),
                Say("Thanks for your patience, Owen. If it doesn't turn up, just write to us again."),
            ),
        ),
        Dialogue(
            "shop-05",
            "You are Delphine Marchetti (delphine.m@example.com). You organise a company picnic and want eight "
            "waterproof picnic blankets. If you cannot have eight, take as many as possible. Pay with the card.",
            scene(
                "shop-05",
                "2025-05-06",
                {"C-691": customer("Delphine Marchetti", "delphine.m@example.com", _BRISTOL, "6158")},
                {},
                {"OD-470": 24},
            ),
            (
                User(
                    "Good morning, I'd like to order eight of the waterproof picnic blankets for a company outing. My "
                    "account is delphine.m@example.com."
                ),
                do_all(
                    ("find_customer", {"email": "delphine.m@example.com"}),
                    ("search_products", {"words": "picnic blanket"}),
                ),
                Say(
                    "Good morning, Delphine. The waterproof picnic blanket costs 33.00 and there are plenty in stock. "
                    "However, we sell at most 5 pieces of one product per order, so eight are not possible. Would "
                    "you like five? That would be 165.00, on your card ending in 6158, sent to 14 Harbour Row, "
                    "Bristol."
                ),
                User("Five is better than nothing. Yes, go ahead with the card."),
                do(
                    "place_order",
                    customer_id="C-691",
                    items=[{"sku": "OD-470", "quantity": 5}],
                    payment_method="card_on_file",
                ),
                Say(
                    "Your order {2[order_id]} is placed: 5 waterproof picnic blankets for {2[total]:.2f}, charged to "
                    "your card. Have a lovely outing!"
                ),
            ),
        ),
        Dialogue(
            "shop-06",
            "You are Samuel Okonkwo (s.okonkwo@example.com). You want to use up your store credit for a cast iron "
            "skillet. If the credit is not enough, pay by card.",
            scene(
                "shop-06",
                "2025-08-14",
                {"C-733": customer("Samuel Okonkwo", "s.okonkwo@example.com", _LEEDS, "3306", 40.0)},
                {"NL-4290": order("C-733", "delivered", "2025-06-30", {"OD-433": 1}, _LEEDS, "2025-07-03")},
            ),
            (
                User("Hey, I've got some store credit lying around. Can I get the cast iron skillet with it?"),
                Say("Happy to check. What e-mail address is your account under?"),
                User("s.okonkwo@example.com - and if I remember right it's about 45"),
                do("find_customer", email="s.okonkwo@example.com"),
                do("search_products", words="skillet"),
                do(
                    "place_order",
                    customer_id="C-733",
                    items=[{"sku": "KT-110", "quantity": 1}],
                    payment_method="store_credit",
                ),
                Say(
                    "Almost, Samuel: the skillet costs 42.50 and your store credit is 40.00, and an order can't be "
                    "split over credit and card. I can place it on your card ending in 3306 instead, and you keep the "
                    "credit for later. Shall I?"
                ),
                User("Fine, put it on the card then."),
                do(
                    "place_order",
                    customer_id="C-733",
                    items=[{"sku": "KT-110", "quantity": 1}],
                    payment_method="card_on_file",
                ),
                Say(
                    "Ordered: {3[order_id]}, one cast iron skillet for {3[total]:.2f} on your card. Your "
                    "{3[store_credit_left]:.2f} of store credit is still there."
                ),
                User("Great, cheers"),
                Say("Enjoy cooking, Samuel!"),
            ),
        ),
        Dialogue(
            "shop-07",
            "You are Ingrid Solheim (ingrid.solheim@example.com). You ordered a paper floor lamp twice, in NL-4455 and "
            "NL-4461, by accident. Find out whether they are the same and cancel the later one.",
            scene(
                "shop-07",
                "2025-10-02",
                {"C-209": customer("Ingrid Solheim", "ingrid.solheim@example.com", _NORWICH, "5120")},
                {
                    "NL-4455": order("C-209", "pending", "2025-09-30", {"LT-231": 1}, _NORWICH),
                    "NL-4461": order("C-209", "pending", "2025-10-01", {"LT-231": 1, "LT-204": 1}, _NORWICH),
                },
            ),
            (
                User(
                    "Hello, I have a feeling that I bought the same lamp twice. The orders are NL-4455 and NL-4461, "
                    "my mail is ingrid.solheim@example.com. Can you compare them?"
                ),
                do("find_customer", email="ingrid.solheim@example.com"),
                do_all(("get_order", {"order_id": "NL-4455"}), ("get_order", {"order_id": "NL-4461"})),
                Say(
                    "You're right that the lamp is in both, Ingrid, but they are not identical:\n"
                    "- NL-4455, 30 September: 1 paper floor lamp, 64.00\n"
                    "- NL-4461, 1 October: 1 paper floor lamp and 1 clip-on reading lamp, 81.50\n\n"
                    "Both are pending. I can only cancel whole orders. Which one should go, if any?"
                ),
                User("Oh, I do want the reading lamp. So please cancel the first one and keep the second."),
                do("cancel_orders", customer_id="C-209", order_ids=["NL-4455"], reason="ordered_by_mistake"),
                Say(
                    "NL-4455 is cancelled and {3[total_refund]:.2f} goes back to your card. NL-4461 with both lamps "
                    "stays as it is."
                ),
                User("Lovely, thank you!"),
                Say("My pleasure. Have a good day, Ingrid."),
            ),
        ),
        Dialogue(
            "shop-08",
            "You are Callum Reyes (callum.reyes@example.com). You found the raised planter box cheaper elsewhere and "
            "want a price match at 65. If there is none, you order it anyway at the normal price, one piece, by card.",
            scene(
                "shop-08",
                "2025-04-22",
                {"C-480": customer("Callum Reyes", "callum.reyes@example.com", _CARDIFF, "8844")},
                {},
                {"GD-327": 7},
            ),
            (
                User("The garden centre down the road has your planter box for 65. Match that and I'll buy it today."),
                Say(
                    "Thanks for asking! I'm afraid our prices are fixed; we don't do price matching or discounts. I "
                    "can tell you our price and availability, though. What is the e-mail address of your account?"
                ),
                User("callum.reyes@example.com. Not even a fiver off?"),
                do_all(
                    ("find_customer", {"email": "callum.reyes@example.com"}),
                    ("search_products", {"words": "planter box", "category": "garden"}),
                ),
                Say(
                    "Not even a fiver, sorry, Callum. The raised planter box is 79.50 and we have 7 in stock. If you "
                    "want one, I can order it to 88 Chapel Street, Cardiff, on your card ending in 8844."
                ),
                User("Ugh. All right, one then. At least it's delivered."),
                do(
                    "place_order",
                    customer_id="C-480",
                    items=[{"sku": "GD-327", "quantity": 1}],
                    payment_method="card_on_file",
                ),
                Say("Your planter box is ordered: {2[order_id]}, {2[total]:.2f} on your card. Happy planting!"),
            ),
        ),
        Dialogue(
            "shop-09",
            "You are Yusra Haddad (yusra.h@example.com). You are fed up with waiting and want to cancel NL-4501, "
            "NL-4507 and NL-4520. You do not know that one of them has been shipped already.",
            scene(
                "shop-09",
                "2025-09-11",
                {"C-615": customer("Yusra Haddad", "yusra.h@example.com", _LEEDS, "1973", 12.0)},
                {
                    "NL-4501": order("C-615", "shipped", "2025-09-04", {"KT-190": 1}, _LEEDS),
                    "NL-4507": order(
                        "C-615", "pending", "2025-09-05", {"OD-419": 1}, _LEEDS, payment_method="store_credit"
                    ),
                    "NL-4520": order("C-615", "pending", "2025-09-08", {"GD-301": 2, "GD-344": 1}, _LEEDS),
                },
            ),
            (
                User(
                    "This is taking forever. Cancel NL-4501, NL-4507 and NL-4520, all of them, they're too slow. "
                    "I'm yusra.h@example.com and yes, I'm sure."
                ),
                do("find_customer", email="yusra.h@example.com"),
                do(
                    "cancel_orders",
                    customer_id="C-615",
                    order_ids=["NL-4501", "NL-4507", "NL-4520"],
                    reason="too_slow",
                ),
                Say(
                    "I'm sorry about the wait, Yusra. Two of the three are cancelled:\n"
                    "- NL-4507: 21.50 back to your store credit\n"
                    "- NL-4520: 81.50 back to your card\n\n"
                    "NL-4501 could not be cancelled because it has already been shipped."
                ),
                User("So what do I do with that one? I don't want the scale any more."),
                Say(
                    "Once it has been delivered you can return it within 30 days, and the refund goes to your card or "
                    "to store credit, whichever you like. Write to us when it has arrived and we'll register the "
                    "return."
                ),
                User("Okay. Fine."),
                Say("Thank you, Yusra, and again my apologies for the delay."),
            ),
        ),
        Dialogue(
            "shop-10",
            "You are Henrik Vasquez (henrik.vasquez@example.com). You look for a present under 35 for a friend who "
            "loves gardening. The pruning shears you have in mind are sold out; choose something else from what is "
            "offered and pay by card.",
            scene(
                "shop-10",
                "2025-03-19",
                {"C-377": customer("Henrik Vasquez", "henrik.vasquez@example.com", _BRISTOL, "4090")},
                {},
                {"GD-301": 0, "LT-258": 9},
            ),
            (
                User(
                    "Hi there! I need a birthday present for a friend who gardens a lot, up to 35 or so. I was "
                    "thinking of the pruning shears. I'm a customer already, henrik.vasquez@example.com."
                ),
                do_all(
                    ("find_customer", {"email": "henrik.vasquez@example.com"}),
                    ("search_products", {"words": "pruning shears"}),
                ),
                do("search_products", words="garden", max_price=35),
                Say(
                    "Nice idea, Henrik, but the pruning shears are sold out at the moment. Within your budget there "
                    "is a set of 6 solar garden lights for 31.25, and they are in stock. Would that suit your friend?"
                ),
                User("Ooh, solar lights, yes! One set please, on my card."),
                do(
                    "place_order",
                    customer_id="C-377",
                    items=[{"sku": "LT-258", "quantity": 1}],
                    payment_method="card_on_file",
                ),
                Say(
                    "All set: order {3[order_id]}, one set of solar garden lights for {3[total]:.2f}, to 14 Harbour "
                    "Row, Bristol. I hope your friend likes them."
                ),
                User("Thanks a lot!"),
                Say("With pleasure. Happy birthday to your friend!"),
            ),
        ),
    )
