"""The clipboard of an X display: text that other programs paste, for as long as the object lives (ICCCM, section 2)."""
import ctypes
import threading

SELECTION_REQUEST, SELECTION_NOTIFY = 30, 31


class SelectionEvent(ctypes.Structure):
    """XSelectionRequestEvent and, without `owner`, XSelectionEvent, with room for the largest event (Xlib.h)."""
    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
                ("display", ctypes.c_void_p),
                ("windows_and_atoms", ctypes.c_ulong * 6), ("room", ctypes.c_long * 24)]


class Clipboard:
    def __init__(self, display, text):
        self.text = text.encode()
        self.x11 = ctypes.CDLL("libX11.so.6")
        for function, result in (("XOpenDisplay", ctypes.c_void_p), ("XDefaultRootWindow", ctypes.c_ulong),
                                 ("XCreateSimpleWindow", ctypes.c_ulong), ("XInternAtom", ctypes.c_ulong),
                                 ("XGetSelectionOwner", ctypes.c_ulong)):
            getattr(self.x11, function).restype = result
        self.display = ctypes.c_void_p(self.x11.XOpenDisplay(display.encode()))
        root = ctypes.c_ulong(self.x11.XDefaultRootWindow(self.display))
        self.window = ctypes.c_ulong(self.x11.XCreateSimpleWindow(self.display, root, 0, 0, 1, 1, 0, 0, 0))
        self.utf8 = self.x11.XInternAtom(self.display, b"UTF8_STRING", False)
        clipboard = ctypes.c_ulong(self.x11.XInternAtom(self.display, b"CLIPBOARD", False))
        self.x11.XSetSelectionOwner(self.display, clipboard, self.window, ctypes.c_ulong(0))
        if self.x11.XGetSelectionOwner(self.display, clipboard) != self.window.value:
            raise RuntimeError("the clipboard belongs to somebody else")
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        event = SelectionEvent()
        while True:
            self.x11.XNextEvent(self.display, ctypes.byref(event))
            if event.type == SELECTION_REQUEST:
                _, requestor, selection, target, place, time = event.windows_and_atoms
                self.reply(requestor, selection, target, place, time)

    def reply(self, requestor, selection, target, place, time):
        if target == self.utf8:
            self.x11.XChangeProperty(self.display, ctypes.c_ulong(requestor), ctypes.c_ulong(place),
                                     ctypes.c_ulong(target), 8, 0, self.text, len(self.text))
        else:
            place = 0  # refused
        notice = SelectionEvent(type=SELECTION_NOTIFY)
        notice.windows_and_atoms[:] = [requestor, selection, target, place, time, 0]
        self.x11.XSendEvent(self.display, ctypes.c_ulong(requestor), False, ctypes.c_long(0), ctypes.byref(notice))
        self.x11.XFlush(self.display)
