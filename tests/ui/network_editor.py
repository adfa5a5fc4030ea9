"""The network as a diagram of its layers and as a form."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, center  # noqa: E402


class NetworkEditor(WindowCase):
    PANEL = "network"

    def window_arguments(self, *more, model="mlp", size="1600x1000"):
        return ["--model", model, "--device", "cpu", "--data", self.data_for(model), "--batch", "4",
                "--test-images", "8", "--precision", "fp32", "--window-size", size, *more]

    def open_view(self, view, *more, **options):
        self.open_window(*more, **options)
        self.click("tabs.Network")
        self.click(f"network.view.{view}")
        return self.wait_for("the view", view=view)

    def deep(self):
        """The file of a network of 21 layers that is small."""
        file = self.path("deep.toml")
        layers = '{type = "conv2d", channels = 2}, {type = "relu"},' * 9
        with open(file, "w", encoding="utf-8") as text:
            text.write(f"""input = [32, 32, 3]
loss = "cross_entropy"
classes = 10
layers = [{layers} {{type = "global_average_pool"}}, {{type = "linear", features = 10}}, {{type = "scale", factor = 1}}]
""")
        return file

    def test_kinds_of_layers_are_read_to_their_ends(self):
        self.open_view("layers", model=self.deep())
        self.wait_for("all kinds", kinds=True)

    def test_a_small_window_scrolls_to_all_layers(self):
        self.open_view("edit", model=self.deep(), size="900x600")
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        x, y = center(self.item("network.add"))
        for turn in range(6):
            self.xdotool("click", "--repeat", "10", "--delay", "1", "5")
            self.point_at(x + turn % 2, y)
        last = self.item("network.row.20")
        self.assertGreaterEqual(last.h, 24)
        self.click("network.row.20")
        self.wait_for("the last layer", focus="scale1")
        for turn in range(6):
            self.xdotool("click", "--repeat", "10", "--delay", "1", "4")
            self.point_at(x + turn % 2, y)
        self.click("network.duplicate")
        self.wait_for("another one behind it", changed=True, focus="scale2")

    def test_rows_use_the_width_of_a_wide_panel(self):
        self.open_view("edit", size="1900x1000")
        self.key("l")
        wait_until(lambda: self.item("network.row.0").w > 1800, "rows as wide as the window", self.process)

    def test_a_layer_without_a_name_is_told_by_its_number(self):
        self.open_view("edit")
        self.type_into("network.edit.1.name", ("BackSpace",))  # all of it is selected
        self.wait_for("a text", why_no_apply="")
        self.key("Return")
        now = self.wait_for("the mistake", lambda now: "a name has" in now["fault"])
        self.assertTrue(now["why_no_apply"].startswith("Layer 2: a name has 1 to 64"), now["why_no_apply"])
        self.assertEqual(now["summary"], now["why_no_apply"])

    def test_a_training_that_has_ended_says_why_an_edit_cannot_be_applied(self):
        self.open_view("edit", "--steps", "2", until="finished")
        self.enter("network.edit.0.features", "64")
        now = self.wait_for("the edit", changed=True)
        self.assertIn("The training has ended: more epochs, steps or time let it go on", now["summary"])
        self.assertEqual(now["why_no_apply"], now["summary"])

    def test_layers_are_listed_with_their_times_and_lead_the_other_views(self):
        self.open_view("layers")
        self.wait_for("times", timed=True, output="fc1")
        self.click("network.layer.relu1")
        self.wait_for("the layer clicked", output="relu1")
        self.click("tabs.Kernels")
        wait_until(lambda: self.events("kernels") and self.events("kernels")[-1]["layer"] == "relu1",
                   "the layer in the kernels table", self.process)

    def test_a_layer_is_added_and_taken_out(self):
        first = self.open_view("edit")
        self.assertEqual(first["why_no_apply"], "Nothing is changed.")
        self.click("network.row.0")
        self.choose("network.add", "network.add=dropout")
        now = self.wait_for("the new layer", changed=True, focus="drop1")
        self.assertEqual(now["layers"][1], "drop1")
        self.assertEqual(now["carried"], now["tensors"])
        self.assertEqual(now["why_no_apply"], "")
        self.click("network.undo")
        self.wait_for("it to be gone", changed=False)
        self.click("network.redo")
        self.wait_for("it to be back", changed=True)
        self.click("network.remove")
        self.wait_for("the first network", changed=False, layers=first["layers"])

    def test_a_mistake_is_told_and_cannot_be_applied(self):
        self.open_view("edit", model="classifier")
        self.type_into("network.edit.0.kernel", "4")
        self.key("Tab")
        now = self.wait_for("the mistake", fault="the kernel must be odd")
        self.assertEqual(now["why_no_apply"], "Layer conv1: the kernel must be odd.")
        before = len(self.events("sent"))
        self.click("network.apply")
        self.type_into("network.edit.0.kernel", "5")
        self.click("network.row.1")
        self.wait_for("a good one", fault="", changed=True, why_no_apply="")
        self.enter("network.edit.0.kernel", "99")
        self.wait_for("the range", fault="", message="Kernel must be a whole number from 1 to 15.")
        self.assertEqual(len(self.events("sent")), before)

    def type_into(self, field, text):
        """Leaves `text` in a text field that still takes keys."""
        place = self.item(field)
        self.click(field)
        self.wait_for_keys(field, place)
        self.key(*text)

    def test_one_click_applies_what_is_still_being_typed(self):
        first = self.open_view("edit", model="classifier")
        sent = len(self.events("sent"))
        self.type_into("network.edit.0.kernel", "5")
        self.wait_for("a text that may be applied", changed=False, why_no_apply="")
        self.click("network.apply")
        wait_until(lambda: len(self.events("sent")) == sent + 1, "the network to be sent", self.process)
        self.wait_for("it to be trained", changed=False, why_no_apply="Nothing is changed.",
                      parameters=first["parameters"] + (25 - 9) * 3 * 256)
        self.enter("network.edit.0.kernel", "4")
        self.wait_for("a mistake", fault="the kernel must be odd")
        self.type_into("network.edit.0.kernel", "3")
        self.wait_for("a text that may mend it", fault="the kernel must be odd", why_no_apply="")
        self.click("network.apply")
        self.wait_for("the first network again", changed=False, fault="", parameters=first["parameters"])

    def test_a_click_on_apply_takes_no_bad_value_and_applies_nothing_without_it(self):
        first = self.open_view("edit", model="classifier")
        sent = len(self.events("sent"))
        refusal = "Kernel must be a whole number from 1 to 15."
        self.type_into("network.edit.0.kernel", "99")
        self.wait_for("a text", why_no_apply="")
        self.click("network.apply")
        self.wait_for("the refusal", message=refusal, changed=False, why_no_apply="Nothing is changed.")
        self.enter("network.edit.0.kernel", "5")
        self.wait_for("an edit", changed=True, message="")
        self.type_into("network.edit.0.kernel", "99")
        self.click("network.apply")
        self.wait_for("the refusal of the second", message=refusal, changed=True)
        self.assertEqual(len(self.events("sent")), sent)
        self.click("network.apply")
        self.wait_for("the edit to be trained", message="", changed=False,
                      parameters=first["parameters"] + (25 - 9) * 3 * 256)

    def test_undo_takes_back_edits_of_the_form_before_changes_of_the_training(self):
        first = self.open_view("edit")
        self.click("network.row.0")
        self.choose("network.add", "network.add=dropout")
        self.wait_for("the new layer", changed=True)
        self.click("network.apply")
        applied = self.wait_for("it to be trained", changed=False, message="",
                                condition=lambda now: "drop1" in now["layers"])
        self.choose("network.add", "network.add=gelu")
        edited = self.wait_for("an edit that is not applied", changed=True)
        sent = len(self.events("sent"))
        self.key("ctrl+z")
        self.wait_for("the edit to be gone", changed=False, layers=applied["layers"])
        self.key("ctrl+y")
        self.wait_for("the edit to be back", changed=True, layers=edited["layers"])
        self.key("ctrl+z")
        self.wait_for("the edit to be gone again", changed=False, layers=applied["layers"])
        self.assertEqual(len(self.events("sent")), sent)
        self.key("ctrl+z")
        self.wait_for("the first network to be trained", changed=False, layers=first["layers"])
        self.assertEqual(len(self.events("sent")), sent + 1)
        self.key("ctrl+shift+z")
        self.wait_for("the dropout to be trained again", changed=False, layers=applied["layers"])
        self.key("ctrl+y")
        self.wait_for("the edit of the form after it", changed=True, layers=edited["layers"])
        self.assertEqual(len(self.events("sent")), sent + 2)

    def test_undo_is_of_the_training_while_the_form_is_not_in_view(self):
        self.open_view("edit")
        self.enter("network.edit.0.features", "64")
        self.wait_for("an edit", changed=True)
        self.enter("training.learning_rate", "0.01")
        wait_until(lambda: self.events("sent"), "the rate to be sent", self.process)
        self.click("network.view.layers")
        self.wait_for("another view", view="layers")
        self.key("ctrl+z")
        self.wait_for_notice("learning rate")
        self.click("network.view.edit")
        self.click("network.apply")
        wait_until(lambda: len(self.events("sent")) == 3, "the edit to be applied", self.process)

    def test_the_input_and_the_classes_are_fields(self):
        first = self.open_view("edit", model="classifier")
        self.assertEqual((first["takes"], first["classes"], first["misfit"]), ("32x32x3", 10, ""))
        self.type_into("network.edit.height", ("2", "8"))
        self.key("Tab")
        now = self.wait_for("another size", takes="28x32x3", changed=True)
        self.assertIn("are 32x32x3, this network takes 28x32x3.", now["misfit"])
        self.assertEqual(now["why_no_apply"], now["misfit"])
        before = len(self.events("sent"))
        self.click("network.apply")
        self.click("network.undo")
        self.wait_for("the first size", takes="32x32x3", changed=False)
        self.assertEqual(len(self.events("sent")), before)
        self.enter("network.edit.classes", "300")
        self.wait_for("the range", message="Classes must be a whole number from 1 to 256.")
        self.enter("network.edit.classes", "12")
        self.wait_for("an output that does not fit", lambda now: "12 classes" in now["fault"], classes=12)
        self.click("network.edit.loss.reconstructs")
        self.wait_for("another loss", classes=0)
        self.click("network.edit.takes.texts")
        self.wait_for("texts", takes="text 1014")
        self.enter("network.edit.alphabet", "abca")
        self.wait_for("the mistake", lambda now: "'a' twice" in now["fault"])
        self.click("network.revert")
        self.wait_for("the trained network", changed=False, takes="32x32x3", classes=10)

    def test_a_network_is_saved_and_opened(self):
        self.open_view("edit")
        self.enter("network.edit.0.features", "64")
        edited = self.wait_for("the edit", changed=True)
        file = self.path("mine.toml")
        self.do_by_palette("open a network", "Open a network file")
        self.wait_for_keys("network.file", self.item("network.file"))
        self.xdotool("type", file)
        self.click("network.save")
        self.wait_for("it to be saved", message=f"Saved {file}.")
        self.click("network.revert")
        self.wait_for("the trained network", changed=False)
        self.click("network.open")
        opened = self.wait_for("it to be opened", message=f"Opened {file}.", changed=True)
        self.assertEqual(opened["parameters"], edited["parameters"])
        with open(file, "a", encoding="utf-8") as text:
            text.write("nonsense = 1\n")
        self.click("network.open")
        self.wait_for("the mistake", lambda now: "'nonsense'" in now["message"], parameters=edited["parameters"])


if __name__ == "__main__":
    main()
