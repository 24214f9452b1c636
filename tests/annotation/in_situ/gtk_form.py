"""A window of GTK with a field and a field for a password, as a program that takes the standard library alone."""

import ctypes

gtk, glib = ctypes.CDLL("libgtk-3.so.0"), ctypes.CDLL("libglib-2.0.so.0")
POINTER = ctypes.c_void_p
for name in ("gtk_window_new", "gtk_entry_new", "gtk_box_new"):
    getattr(gtk, name).restype = POINTER

if __name__ == "__main__":
    glib.g_set_prgname(b"form")
    gtk.gtk_init(None, None)
    window, box, field, secret = gtk.gtk_window_new(0), gtk.gtk_box_new(1, 4), gtk.gtk_entry_new(), gtk.gtk_entry_new()
    gtk.gtk_window_set_title(POINTER(window), b"a form")
    gtk.gtk_window_set_default_size(POINTER(window), 300, 120)
    gtk.gtk_entry_set_visibility(POINTER(secret), 0)
    for each in (field, secret):
        gtk.gtk_container_add(POINTER(box), POINTER(each))
    gtk.gtk_container_add(POINTER(window), POINTER(box))
    gtk.gtk_widget_show_all(POINTER(window))
    gtk.gtk_main()
