"""Runs the Python code that comes on standard input, as if Python had been started with it.

It is the `private` script of interpreter.policy: Python reads it from a pipe, so it is kept below 8 KiB, which always fits one.
The code gets a clean __main__, the working directory first on its path, and an empty standard input.
"""


def run():
    import builtins
    import linecache
    import os
    import sys

    own_name = sys._getframe().f_code.co_filename
    name = "<stdin>"

    def close_pipe():
        """The descriptor that this script came through is of no use to the code and its children."""
        folder, _, number = own_name.rpartition("/")
        if folder == "/proc/self/fd" and number.isdigit():
            try:
                os.close(int(number))
            except OSError:
                pass

    def show_source(text):
        """Tracebacks then show the lines of the code, and inspect.getsource() finds them."""
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)

    def with_library_alone(act):
        """Not with modules of the working directory: a traceback.py there is the code's."""
        path = sys.path
        sys.path = [entry for entry in path if entry not in ("", folder)]
        try:
            return act()
        finally:
            sys.path = path

    def show_errors_of_the_code_only():
        """An uncaught exception is shown without this script's frames, by the code's own hook if it has set one."""
        # Imported now: later, it would undo Python's note that a KeyboardInterrupt ends it by SIGINT.
        traceback = with_library_alone(lambda: __import__("traceback"))
        code_hook = sys.excepthook

        def hook(kind, error, trace):
            while trace is not None and trace.tb_frame.f_code.co_filename == own_name:
                trace = trace.tb_next
            error.__traceback__ = trace
            if code_hook is sys.__excepthook__:
                with_library_alone(lambda: traceback.print_exception(kind, error, trace))  # it imports more as it prints
            else:
                code_hook(kind, error, trace)

        sys.excepthook = hook

    def clean_main():
        """Without __file__, multiprocessing does not run this script again in its children."""
        main = sys.modules["__main__"].__dict__
        for key in list(main):
            if key not in ("__name__", "__builtins__", "__loader__", "__spec__", "__package__"):
                del main[key]
        main.update(__doc__=None, __loader__=None, __package__=None, __spec__=None, __builtins__=builtins)
        return main

    close_pipe()
    folder = sys.path[0] = os.getcwd()
    sys.argv[0] = "-"
    source = sys.stdin.buffer.read()
    main = clean_main()
    try:
        code = compile(source, name, "exec", dont_inherit=True)
        show_source(source.decode("utf-8", "replace"))
        exec(code, main)
    except SystemExit:
        raise
    except BaseException:
        show_source(source.decode("utf-8", "replace"))
        show_errors_of_the_code_only()
        raise


run()
