"""What other programs ask an X client for: text that they paste (CLIPBOARD, ICCCM section 2) and files that are dragged
to them (XDND, version 5)."""
import ctypes
import pathlib
import select
import threading

from warpscope_program import PATIENCE_S

SELECTION_REQUEST, SELECTION_NOTIFY, CLIENT_MESSAGE = 30, 31, 33
XA_ATOM = 4
XDND_VERSION = 5


class SelectionEvent(ctypes.Structure):
    """XSelectionRequestEvent and, without `owner`, XSelectionEvent, with room for the largest event (Xlib.h)."""
    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
                ("display", ctypes.c_void_p),
                ("windows_and_atoms", ctypes.c_ulong * 6), ("room", ctypes.c_long * 24)]


class ClientMessage(ctypes.Structure):
    """XClientMessageEvent, with room for the largest event (Xlib.h)."""
    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
                ("display", ctypes.c_void_p), ("window", ctypes.c_ulong), ("message_type", ctypes.c_ulong),
                ("format", ctypes.c_int), ("data", ctypes.c_long * 5), ("room", ctypes.c_long * 24)]


class Client:
    """A connection to an X display, with a window that nobody sees."""

    def __init__(self, display):
        self.x11 = ctypes.CDLL("libX11.so.6")
        for function, result in (("XOpenDisplay", ctypes.c_void_p), ("XDefaultRootWindow", ctypes.c_ulong),
                                 ("XCreateSimpleWindow", ctypes.c_ulong), ("XInternAtom", ctypes.c_ulong),
                                 ("XGetSelectionOwner", ctypes.c_ulong)):
            getattr(self.x11, function).restype = result
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(display.encode()))
        self.root = self.x11.XDefaultRootWindow(self.display)
        self.window = self.x11.XCreateSimpleWindow(self.display, ctypes.c_ulong(self.root), 0, 0, 1, 1, 0, 0, 0)

    def atom(self, name):
        return self.x11.XInternAtom(self.display, name.encode(), False)

    def own(self, selection):
        atom = ctypes.c_ulong(self.atom(selection))
        self.x11.XSetSelectionOwner(self.display, atom, ctypes.c_ulong(self.window), ctypes.c_ulong(0))
        if self.x11.XGetSelectionOwner(self.display, atom) != self.window:
            raise RuntimeError(f"{selection} belongs to somebody else")

    def send(self, window, event):
        self.x11.XSendEvent(self.display, ctypes.c_ulong(window), False, ctypes.c_long(0), ctypes.byref(event))
        self.x11.XFlush(self.display)

    def answer(self, event, kind, content):
        """Gives `content` to who has asked for it as `kind`, and nothing to who wants another kind."""
        _, requestor, selection, target, place, time = event.windows_and_atoms
        if target == self.atom(kind):
            self.x11.XChangeProperty(self.display, ctypes.c_ulong(requestor), ctypes.c_ulong(place),
                                     ctypes.c_ulong(target), 8, 0, content, len(content))
        else:
            place = 0  # refused
        notice = SelectionEvent(type=SELECTION_NOTIFY)
        notice.windows_and_atoms[:] = [requestor, selection, target, place, time, 0]
        self.send(requestor, notice)


class Clipboard(Client):
    """Holds a text for as long as the object lives."""

    def __init__(self, display, text):
        super().__init__(display)
        self.text = text.encode()
        self.own("CLIPBOARD")
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        event = SelectionEvent()
        while True:
            self.x11.XNextEvent(self.display, ctypes.byref(event))
            if event.type == SELECTION_REQUEST:
                self.answer(event, "UTF8_STRING", self.text)


class FileManager(Client):
    """Drags files and folders to the window of another program."""

    def __init__(self, display, target):
        super().__init__(display)
        self.target = target

    def drop(self, paths, x, y):
        """Drags over the window to a place of the screen, and lets go there. Returns once the window says that it has
        taken what it was given."""
        content = "".join(f"{pathlib.Path(path).as_uri()}\r\n" for path in paths).encode()
        if self.version_taken() < 3:
            raise RuntimeError("the window takes nothing that is dragged")
        self.own("XdndSelection")
        kinds = [self.atom("text/uri-list"), self.atom("text/plain"), 0]
        self.tell("XdndEnter", XDND_VERSION << 24, *kinds)
        for step in (40, 20, 0):  # on the way
            self.tell("XdndPosition", 0, x - step << 16 | y, 0, self.atom("XdndActionCopy"))
            status = self.wait_for("XdndStatus", content)
            if not status.data[1] & 1:
                raise RuntimeError("the window refuses the drop")
        self.tell("XdndDrop", 0, 0)
        self.wait_for("XdndFinished", content)

    def tell(self, message, *data):
        event = ClientMessage(type=CLIENT_MESSAGE, window=self.target, message_type=self.atom(message), format=32)
        for place, value in enumerate((self.window, *data)):
            event.data[place] = value
        self.send(self.target, event)

    def wait_for(self, message, content):
        """The next message of that name. Until it comes, what is dragged is given to who asks for it."""
        while True:
            event = self.next_event()
            if event.type == SELECTION_REQUEST:
                self.answer(SelectionEvent.from_buffer(event), "text/uri-list", content)
            elif event.type == CLIENT_MESSAGE and event.message_type == self.atom(message):
                return event

    def next_event(self):
        connection = self.x11.XConnectionNumber(self.display)
        while self.x11.XPending(self.display) == 0:
            if not select.select([connection], [], [], PATIENCE_S)[0]:
                raise RuntimeError(f"the window has not answered for {PATIENCE_S} s")
        event = ClientMessage()
        self.x11.XNextEvent(self.display, ctypes.byref(event))
        return event

    def version_taken(self):
        """The version of XDND that the window speaks; 0: none."""
        kind, form, count, left = ctypes.c_ulong(), ctypes.c_int(), ctypes.c_ulong(), ctypes.c_ulong()
        value = ctypes.POINTER(ctypes.c_ulong)()
        self.x11.XGetWindowProperty(self.display, ctypes.c_ulong(self.target),
                                    ctypes.c_ulong(self.atom("XdndAware")), ctypes.c_long(0), ctypes.c_long(1), False,
                                    ctypes.c_ulong(XA_ATOM), *map(ctypes.byref, (kind, form, count, left, value)))
        return value[0] if count.value == 1 else 0
