"""Versions of the images below each other: A/B, earlier steps, checkpoints, figures, orders, the enlarged picture."""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from selection import Clipboard  # noqa: E402
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import ACCENT, WindowCase, center, colors_in, overlap, pixels_near  # noqa: E402

try:
    from PIL import Image
except ImportError:
    Image = None  # the cases skip themselves


class Comparing(WindowCase):
    def open_menu(self):
        self.click("images.rows")
        wait_until(lambda: self.layout().get("images.row.difference"), "the menu of rows", self.process)

    def choose_row(self, menu, choice):
        """Chooses in the menu of rows, which stays open, and closes it."""
        self.open_menu()
        self.choose(menu, choice)
        self.key("Escape")
        self.point_away()

    def wait_for_row(self, row):
        """Until something is seen where the first picture of the row is."""
        def seen():
            place = self.layout().get(f"images.{row}.0")
            return place is not None and colors_in(self.grab(place)) > 20
        wait_until(seen, f"the row {row}", self.process)

    def test_the_same_weights_by_other_variants_give_the_same_pictures(self):
        self.wait_for_images(self.open_paused(size="1600x1000"))
        self.choose_row("images.other.preset", "images.other.preset=onednn")
        self.wait_for_row("other")

        def alike():
            other, now = (self.grab(self.item(f"images.{row}.0")) for row in ("other", "now"))
            return other.shape == now.shape and colors_in(other) > 20 and abs(other - now).max() <= 1
        wait_until(alike, "the same picture in both rows", self.process)
        # The difference is that of both now: white, but for what other instructions round in another way.
        wait_until(lambda: self.grab(self.item("images.difference.0")).mean() > 240, "a difference of nothing",
                   self.process)
        self.item("images.largest")

    def test_rows_are_remembered_and_what_is_gone_is_told(self):
        self.wait_for_images(self.open_paused(size="1600x1000"))
        self.choose_row("images.other.preset", "images.other.preset=onednn")
        self.wait_for_row("other")
        self.assertEqual(self.close_window().code, 0)
        self.run_dir = self.path("again")
        self.wait_for_images(self.open_paused(size="1600x1000"))
        self.wait_for_row("other")
        self.assertEqual(self.close_window().code, 0)
        file = os.path.join(self.home, "config", "warpscope", "window.json")
        with open(file, encoding="utf-8") as stream:
            kept = json.load(stream)
        self.assertEqual(kept["images"]["rows"]["preset"], "onednn")
        kept["images"]["rows"]["shown"].append("run")
        kept["images"]["rows"]["run"] = {"path": self.path("gone.safetensors"), "name": "yesterday, best"}
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(kept, stream)
        self.run_dir = self.path("third")
        self.wait_for_images(self.open_paused(size="1600x1000"))
        self.wait_for_notice("rows of the images are left out: yesterday, best is gone")
        self.wait_for_row("other")

        # The row of the run may have been seen before its file was found to be gone.
        def without_run():
            other, difference = (self.layout()[f"images.{row}.0"] for row in ("other", "difference"))
            return other.y < difference.y < other.y + 2 * other.h
        wait_until(without_run, "the difference right below the other variants", self.process)

    def test_an_earlier_step_stands_below_the_newest(self):
        self.wait_for_images(self.open_paused(steps=4, size="1600x1000"))
        self.open_menu()
        self.click("images.row.earlier")
        self.key("Escape")
        self.point_away()
        self.wait_for_row("earlier")
        earlier, now = (self.grab(self.item(f"images.{row}.0")) for row in ("earlier", "now"))
        self.assertFalse((earlier == now).all())

    def test_an_image_is_enlarged_and_two_versions_meet_at_a_divider(self):
        self.wait_for_images(self.open_paused(size="1600x1000"))
        small = self.item("images.now.0")
        self.key("i")
        picture = self.item("enlarged.picture")
        self.assertGreater(picture.h, 2 * small.h)
        self.point_at(picture.x + picture.w // 4, picture.y + picture.h // 2)
        self.assertFalse(overlap(self.item("images.magnifier"), picture), "what is enlarged is covered by its values")
        self.click("enlarged.mode.split")
        self.point_away()
        place = wait_until(lambda: self.layout()["enlarged.picture"] if
                           self.layout()["enlarged.picture"].w < picture.w else None, "one picture", self.process)

        def divider():
            """The column where the divider stands."""
            seen = self.grab(place)
            near = [pixels_near(seen[:, column:column + 1], ACCENT, 16) for column in range(place.w)]
            return near.index(max(near)) if max(near) > place.h // 2 else None
        before = wait_until(divider, "the divider", self.process)
        self.drag(center(place), (place.x + place.w // 4, place.y + place.h // 2))
        self.point_away()
        wait_until(lambda: (divider() or before) < before - place.w // 8, "the divider to follow", self.process)
        self.click("enlarged.close")
        wait_until(lambda: self.grab(self.item("images.original.0")).std() > 8, "all images", self.process)

    def test_a_persons_own_images_are_shown_when_their_paths_are_pasted(self):
        self.wait_for_images(self.open_paused(size="1600x1000"))
        red, green, broken = (self.path(name) for name in ("red.png", "two words.png", "broken.png"))
        Image.new("RGB", (64, 48), (200, 30, 40)).save(red)
        Image.new("RGB", (40, 90), (20, 180, 60)).save(green)
        with open(broken, "w", encoding="utf-8") as file:
            file.write("no picture")
        self.clipboard = Clipboard(self.display, f"{red}\nfile://{green.replace(' ', '%20')}\n{broken}\n")
        self.key("ctrl+v")
        self.wait_for_notice("broken.png is no picture that can be read")
        self.item("images.own")
        for number, colour in enumerate(((200, 30, 40), (20, 180, 60))):
            place = self.item(f"images.original.{number}")
            wait_until(lambda p=place, c=colour: pixels_near(self.grab(p), c, 2) > 0.9 * p.w * p.h, "the own image",
                       self.process)
        self.click("images.own")
        wait_until(lambda: pixels_near(self.grab(self.item("images.original.0")), (200, 30, 40), 2) == 0,
                   "the held-out images", self.process)

    def test_a_persons_own_images_are_the_newest_whatever_step_is_chosen(self):
        last = self.open_paused(steps=8, data="builtin", size="1600x1000")
        self.wait_for_images(last)

        def shown(condition, what):
            wait_until(lambda: condition(self.events("images")[-1]["step"]), what, self.process)
        place = self.item("images.time")
        first = (place.x + 8, place.y + place.h // 2)
        self.drag(first, (first[0] + 2, first[1]))
        self.point_away()
        shown(lambda step: step < last, "pictures of an earlier step")
        red = self.path("red.png")
        Image.new("RGB", (64, 64), (200, 30, 40)).save(red)
        self.clipboard = Clipboard(self.display, f"{red}\n")
        self.key("ctrl+v")
        self.item("images.own")
        shown(lambda step: step == last, "the newest ones")
        self.wait_for_row("now")
        self.drag(first, (first[0] + 2, first[1]))
        self.point_away()
        shown(lambda step: step == last, "what stays")
        self.click("images.own")
        shown(lambda step: step < last, "the earlier step of the held-out images")

    def test_images_are_sorted_by_the_figure_that_is_chosen(self):
        self.wait_for_images(self.open_paused(size="1600x1000"))

        def leftmost():
            places = {name: place for name, place in self.layout().items() if name.startswith("images.original.")}
            top = min(place.y for place in places.values())
            return min((place for place in places.items() if place[1].y == top), key=lambda item: item[1].x)[0]
        self.assertEqual(leftmost(), "images.original.0")
        first = self.layout()["images.original.0"]
        self.choose("images.metric", "images.metric=SSIM")
        self.choose("images.order", "images.order=best first")
        self.point_away()
        wait_until(lambda: self.layout()["images.original.0"] != first, "another order", self.process)


if __name__ == "__main__":
    main()
