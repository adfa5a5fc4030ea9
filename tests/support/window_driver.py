"""The real window on a display that no other test uses meanwhile (display.py), clicked and typed at, seen as pixels and
through its trace (ui/frame/trace.h)."""
import collections
import ctypes
import json
import os
import shutil
import subprocess

import display
from selection import CLIENT_MESSAGE, ClientMessage, FileManager
from warpscope_program import PATIENCE_S, ProgramCase, read_metrics, steps_of, wait_until

try:
    import numpy
    from PIL import Image, ImageGrab, features
    MISSING = None if features.check("xcb") else "Pillow cannot look at X displays"
except ImportError as error:
    MISSING = str(error)

# Colours of the dark palette (ui/widgets/theme.cpp).
ACCENT = (0x8C, 0x9E, 0xFF)
TRAIN_CURVE = (0x56, 0xB4, 0xE9)
TEST_CURVE = (0xE6, 0x9F, 0x00)
KEYS = {".": "period", ",": "comma", " ": "space", ":": "colon"}

Rectangle = collections.namedtuple("Rectangle", "x y w h")


def rectangle_of(event):
    """Where the item of an event of the kind "layout" is."""
    return Rectangle(event["x"], event["y"], event["w"], event["h"])


def center(rectangle):
    return rectangle.x + rectangle.w // 2, rectangle.y + rectangle.h // 2


def overlap(a, b):
    return a.x < b.x + b.w and b.x < a.x + a.w and a.y < b.y + b.h and b.y < a.y + a.h


def read_picture(path):
    """A PNG as an array (height, width, 3)."""
    return numpy.asarray(Image.open(path).convert("RGB")).astype(int)


def part(picture, rectangle):
    return picture[rectangle.y:rectangle.y + rectangle.h, rectangle.x:rectangle.x + rectangle.w]


def pixels_near(picture, color, tolerance):
    """How many pixels have `color` but for `tolerance` in each channel."""
    return int((abs(picture - numpy.array(color)).max(axis=2) <= tolerance).sum())


def reds(picture):
    """Pixels that are clearly red: the signed difference has them, viridis has none."""
    return int((picture[..., 0] - picture[..., 1] > 80).sum())


def colors_in(picture):
    return len(numpy.unique(picture.reshape(-1, 3), axis=0))


class WindowCase(ProgramCase):
    """Each case has a display to itself, 1920x1080, without a window manager."""
    PANEL = None  # whose events in the trace newest() and wait_for() look at

    def setUp(self):
        for tool in ("Xvfb", "xdotool"):
            if shutil.which(tool) is None:
                self.skipTest(f"{tool} is missing")
        if MISSING:
            self.skipTest(MISSING)
        super().setUp()
        self.trace = self.path("trace.jsonl")
        self.run_dir = self.path("run")
        self.display = self.borrow_display()
        self.forget_trace()
        self.process = None
        self.window = None
        self.origin = (0, 0)

    def borrow_display(self):
        name, slot = display.borrow()
        if slot is not None:
            self.addCleanup(slot.close)
        return name

    # --- the program

    def window_environment(self):
        return self.environment(DISPLAY=self.display, WARPSCOPE_UI_TRACE=self.trace, LIBGL_ALWAYS_SOFTWARE="1")

    def window_arguments(self, *more, size="1280x800", data=None, run_dir=None):
        """A training on the CPU, four images at a time, at a rate at which random images do not diverge."""
        sized = ["--window-size", size] if size else []
        return ["--device", "cpu", *self.network_arguments(more), "--data", data or self.small_data(), "--batch", "4",
                "--optimizer", "sgd", "--lr", "0.0005", "--test-images", "8", "--run-dir", run_dir or self.run_dir,
                *sized, *more]

    def data_for(self, model):
        """The built-in digits for a network that takes them, which are drawn in no time; else pictures of its shape."""
        return "builtin" if model == "mlp" else self.small_data()

    def open_window(self, *more, until="running", **options):
        """Starts the program and waits until its window shows a training in the state `until`."""
        if os.path.exists(self.trace):
            os.remove(self.trace)
        self.forget_trace()
        self.process = self.start(*self.window_arguments(*more, **options), environment=self.window_environment())
        self.wait_for_state(until)
        self.window = wait_until(lambda: self.xdotool("search", "--onlyvisible", "--class", "warpscope", check=False),
                                 "the window", self.process).split()[0]
        self.xdotool("windowfocus", self.window)
        self.origin = self.geometry()[:2]

    def open_paused(self, *more, steps=1, **options):
        """A window whose training is paused after at least so many steps; returns the steps."""
        self.open_window(*more, **options)
        self.wait_for_step(self.process, self.run_dir, steps)
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.point_away()
        return self.settled_step()

    def finish(self, process):
        """What the graphics driver may say on stderr is left out."""
        ended = super().finish(process)
        own = [line for line in ended.err.splitlines(keepends=True) if line.startswith("warpscope:")]
        return ended._replace(err="".join(own))

    def close_window(self):
        """Ctrl+Q; returns how the program ended."""
        self.key("ctrl+q")
        return self.finish(self.process)

    # --- hands

    def xdotool(self, *arguments, check=True):
        done = subprocess.run(["xdotool", *arguments], env=self.window_environment(), capture_output=True, text=True,
                              timeout=PATIENCE_S)
        if check and done.returncode != 0:
            self.fail(f"xdotool {' '.join(arguments)}: {done.stderr}")
        return done.stdout.strip()

    def click(self, name):
        """Clicks in the middle of the item `name`, waiting for it to be there, with frames of their own for move, press
        and release: what it does is done after. Where one frame brings them together, Dear ImGui 1.86 sees the press
        where the pointer is by then, and no release: a move, a key or a click that follows sooner would take the place
        of this one."""
        place = None
        while place != self.item(name):  # what is still being laid out moves while the pointer is on its way
            place = self.item(name)
            self.point_at(*center(place))
        self.press()
        self.press(False)

    def point_at(self, x, y):
        """Moves the pointer to a place in the window and waits until the window has drawn it there."""
        self.xdotool("mousemove", "--window", self.window, str(x), str(y))
        wait_until(lambda: self.drawn("x", "y") == (x, y), f"a frame with the pointer at {x}, {y}", self.process)

    def press(self, down=True):
        """Presses the left button where the pointer is, or lets it go, and waits until the window has drawn that."""
        self.xdotool("mousedown" if down else "mouseup", "1")
        wait_until(lambda: self.drawn("pressed") == (down,), "a frame with the button", self.process)

    def drag(self, start, *ways):
        """Drags from a place along `ways`, with frames of their own for press, moves and release: a press and a move
        within one frame take hold of nothing (Dear ImGui 1.86 sees the press where the move ended)."""
        self.point_at(*start)
        self.press()
        for way in ways:
            self.point_at(*way)
        self.press(False)

    def choose(self, menu, choice, opens=None):
        """Clicks on what opens a list of choices, by the name of `menu` if `opens` is none, and then on one of them."""
        before = len(self.events("drawn"))
        self.click(menu)

        # A list that was open before has left its choices in the trace, and the first frame of a new one is measured
        # but not shown: the choices are where its second frame has them. Pixels tell no list from an earlier one that
        # is still on the screen.
        def opened():
            place = self.layout().get(choice)
            frames = [event for event in self.events("drawn")[before:] if event["list"] == (opens or menu)]
            return len(frames) >= 2 and place is not None and place.h > 8
        wait_until(opened, f"{menu} to open", self.process)
        self.click(choice)

    def enter(self, field, text):
        """Types into a text field and presses Enter."""
        place = self.item(field)
        self.click(field)
        self.wait_for_keys(field, place)
        self.key(*(KEYS.get(letter, letter) for letter in text), "Return")

    def wait_for_keys(self, field, place):
        """Waits until a text field takes keys, which its frame tells."""
        wait_until(lambda: pixels_near(self.grab(place), ACCENT, 24) > place.w, f"{field} to take keys", self.process)

    def point_away(self):
        """Moves the pointer off the window, so that nothing is lit and no tool-tip covers anything. Only when what was
        clicked on has answered: a press, a release and a move within one frame would count as nothing."""
        away = tuple(length - 1 for length in display.SIZE)
        self.xdotool("mousemove", *map(str, away))
        seen = away[0] - self.origin[0], away[1] - self.origin[1]
        wait_until(lambda: self.drawn("x", "y") == seen, "a frame without the pointer", self.process)

    def key(self, *names):
        self.xdotool("key", *names)

    def tap(self, name, place):
        """Taps a key with frames of its own, which the pointer at `place` tells of: of keys that are tapped within one
        frame nobody knows which came first (Dear ImGui 1.86)."""
        x, y = center(place)
        self.key(name)
        for step in (1, 0):
            self.point_at(x + step, y)

    def palette(self):
        """What the palette told last."""
        told = self.events("palette")
        return told[-1] if told else {"open": False}

    def wait_for_palette(self, **fields):
        wait_until(lambda: all(self.palette().get(key) == value for key, value in fields.items()),
                   f"a palette with {fields}, {self.events('palette')[-6:]}", self.process)

    def open_palette(self, query=""):
        self.key("ctrl+p")
        self.wait_for_palette(open=True, query="")
        self.wait_for_keys("palette.text", self.item("palette.text"))
        if query:
            self.key(*(KEYS.get(letter, letter) for letter in query))
            self.wait_for_palette(query=query)

    def do_by_palette(self, query, first):
        """Types into the palette and takes the action that it then offers first."""
        self.open_palette(query)
        self.wait_for_palette(first=first)
        self.key("Return")
        self.wait_for_palette(open=False)

    def drop_files(self, *paths):
        """Drags files and folders from a file manager to the middle of the window."""
        x, y, width, height = self.geometry()
        FileManager(self.display, int(self.window)).drop(paths, x + width // 2, y + height // 2)

    def ask_to_close(self):
        """What a window manager sends when somebody clicks on the close button."""
        x11 = ctypes.CDLL("libX11.so.6")
        x11.XOpenDisplay.restype = ctypes.c_void_p
        x11.XInternAtom.restype = ctypes.c_ulong
        display = ctypes.c_void_p(x11.XOpenDisplay(self.display.encode()))
        atom = {name: x11.XInternAtom(display, name, False) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW")}
        message = ClientMessage(type=CLIENT_MESSAGE, window=int(self.window), message_type=atom[b"WM_PROTOCOLS"],
                                format=32)
        message.data[0] = atom[b"WM_DELETE_WINDOW"]
        x11.XSendEvent(display, ctypes.c_ulong(int(self.window)), False, ctypes.c_long(0), ctypes.byref(message))
        x11.XCloseDisplay(display)

    # --- eyes

    def grab(self, place=None):
        """The pixels of a part of the window, or of all of it, as an array (height, width, 3)."""
        x, y, width, height = self.origin + (place[2:] if place else self.geometry()[2:])
        x, y = (x + place.x, y + place.y) if place else (x, y)
        box = (x, y, x + width, y + height)
        return numpy.asarray(ImageGrab.grab(box, xdisplay=self.display).convert("RGB")).astype(int)

    def geometry(self):
        values = dict(line.split("=") for line in
                      self.xdotool("getwindowgeometry", "--shell", self.window).splitlines())
        return tuple(int(values[name]) for name in ("X", "Y", "WIDTH", "HEIGHT"))

    def forget_trace(self):
        self.trace_read = 0
        self.told_last = None  # "layout" or "drawn"
        self.keep_events()

    def keep_events(self, **kinds):
        """Forgets what was read of the trace but for these events of each kind."""
        self.traced = collections.defaultdict(list, kinds)
        self.item_places = {event["name"]: rectangle_of(event) for event in self.traced["layout"]}

    def read_trace(self):
        """Takes in what the trace tells since the last call: a poll takes no longer where a window has told much."""
        try:
            with open(self.trace, "rb") as file:
                file.seek(self.trace_read)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self.trace_read += len(line)
                    event = json.loads(line)
                    kind = event["event"]
                    self.traced[kind].append(event)
                    if kind in ("layout", "drawn"):
                        self.told_last = kind
                    if kind == "layout":
                        self.item_places[event["name"]] = rectangle_of(event)
        except FileNotFoundError:
            pass

    def events(self, kind):
        """The events of one kind, oldest first."""
        self.read_trace()
        return self.traced[kind][:]

    def drawn(self, *fields):
        """What the last frame told of itself."""
        frames = self.events("drawn")
        return tuple(frames[-1][field] for field in fields) if frames else None

    def layout(self):
        """Where each item is, or was when it was last seen."""
        self.read_trace()
        return dict(self.item_places)

    def newest(self):
        """The newest event of the panel, or None."""
        events = self.events(self.PANEL)
        return events[-1] if events else None

    def wait_for(self, what, condition=None, **fields):
        """Waits until the panel's newest event fulfils `condition` and has all of `fields`, and returns it."""
        def found():
            newest = self.newest()
            good = newest and all(newest.get(name) == value for name, value in fields.items())
            return newest if good and (condition is None or condition(newest)) else None
        return wait_until(found, what, self.process)

    def item(self, name):
        """Where an item is on the screen. A frame tells of its items while it is made, and of itself when it is
        drawn."""
        def seen():
            self.read_trace()
            return self.item_places.get(name) if self.told_last == "drawn" else None
        return wait_until(seen, f"the item {name}", self.process)

    def state(self):
        states = self.events("state")
        return states[-1]["state"] if states else None

    def wait_for_state(self, state):
        wait_until(lambda: self.state() == state, f"state {state}", self.process)

    def wait_for_marker(self, text):
        """Waits for a marker that holds `text` and returns its line of metrics.jsonl."""
        def found():
            return next((line for line in read_metrics(self.run_dir) if text in line.get("marker", "")), None)
        return wait_until(found, f"the marker '{text}'", self.process)

    def wait_for_notice(self, text):
        wait_until(lambda: any(text in event["text"] for event in self.events("notice")), f"the notice '{text}'",
                   self.process)

    def settled_step(self):
        """The last step of a paused training, once it is recorded and in a frame that is drawn from now on."""
        before = len(self.events("drawn"))

        def settled():
            frames = self.events("drawn")[before:]
            step = max(steps_of(self.run_dir), default=0)
            return step if frames and frames[-1]["step"] == step else None
        return wait_until(settled, "the steps to end", self.process)

    def settled_evaluation(self):
        """The step of the last evaluation of a paused training. One that is under way goes on while it is paused, and
        another step comes only once it has ended."""
        step = self.settled_step()
        self.key("Right")
        wait_until(lambda: self.settled_step() > step, "another step", self.process)
        return [line["step"] for line in read_metrics(self.run_dir) if "test_loss" in line][-1]

    def wait_for_images(self, step):
        """Until the pictures shown are those of `step`: they follow a paused training by up to some tenths of a
        second."""
        def shown():
            newest = self.events("images")[-1:]
            if not newest or newest[0]["step"] != step:
                return False
            return sum(frame["time"] > newest[0]["time"] for frame in self.events("drawn")) > 1  # it is on the screen
        wait_until(shown, f"the images of step {step}", self.process)
