# SPDX-License-Identifier: MIT
"""kernel.py - runs the cells of `run_ipython`, one after the other, in one Python.

The executor brings this program along and sends it to a bare `python3` over stdin, a stream
socket: no file of ours has to be in the root file system. It runs with the workload's rights, in
one process with the cells, and so protects nothing; what the executor hears of it is foreign there.

  request  five numbers of four bytes, high byte first: sequence, interrupts sent so far, and the
           lengths of a directory, of code for a fresh Python, and of the cell; then these three
  reply    one byte that says what it is, a length of four bytes, and as many bytes:
           h  up: the path of this Python      i  an image, PNG
           d  done: the cell's sequence, four bytes

All text goes to descriptor 1, a pipe: so what the cell, its threads and its processes print stays
in order, and is complete in the pipe when `d` is sent."""
import sys

# What lies in the session's directory is no module of ours: it may have an ast.py of its own.
PATH_HERE = sys.path[:1] if sys.path[:1] == [''] else []
del sys.path[:len(PATH_HERE)]

import ast
import builtins
import io
import linecache
import os
import signal
import threading
import traceback
from importlib.machinery import PathFinder

IMAGE_BYTES_MAX = 8 << 20  # kernel_wire.h has the same: the executor takes no longer reply
FRAMES_SHOWN = 20          # of a traceback, half of them from each end
SPAWNS = ('os.exec', 'os.fork', 'os.forkpty', 'os.posix_spawn', 'os.system', 'subprocess.Popen')
HELD = [signal.SIGINT, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR1,
        signal.SIGUSR2]    # these wait while no cell runs: a handler may raise


class Pipe(io.RawIOBase):
    """A descriptor that is written to at once and whole, whatever a child has set it to."""

    def __init__(self, fd, name):
        super().__init__()
        self.fd, self.name = fd, name

    def fileno(self):
        return self.fd

    def writable(self):
        return True

    def write(self, data):
        left = data = memoryview(data).cast('B')
        while left:
            try:
                left = left[os.write(self.fd, left):]
            except BlockingIOError:
                import select
                select.select([], [self.fd], [])
        return len(data)

    def take(self, size):
        pieces = []
        while size:
            piece = os.read(self.fd, min(size, 1 << 20))
            if not piece:
                os._exit(0)  # the executor wants no more of us
            pieces.append(piece)
            size -= len(piece)
        return b''.join(pieces)


class Stream(io.TextIOWrapper):
    """By whole lines, as on a terminal; but what the other one has begun comes first."""

    latest = None

    def write(self, text):
        if Stream.latest is not self:
            flush_streams()
            Stream.latest = self
        return super().write(text)


class State:
    pid = os.getpid()
    in_cell = leaving = False
    interrupts = 0  # that arrived
    one_at_a_time = threading.Lock()  # threads show things, too


# --- what goes out -------------------------------------------------------------------------------

def say(kind, payload):
    held = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)  # or half of it might be sent
    try:
        with State.one_at_a_time:
            CHANNEL.write(kind + len(payload).to_bytes(4, 'big') + payload)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def open_streams():
    """Again, where a cell has closed them."""
    for name, fd in (('stdout', 1), ('stderr', 2)):
        try:
            os.fstat(fd)
        except OSError:
            os.dup2(OUT.fd, fd)
        stream = getattr(sys, name)
        if stream is not None and stream is not START[name] and not stream.closed:
            continue
        stream = Stream(Pipe(fd, '<%s>' % name), 'utf-8', 'backslashreplace', line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, '__%s__' % name, stream)


def flush_streams():
    for stream in sys.stdout, sys.stderr:
        try:
            stream.flush()
        except Exception:
            pass  # what the cell has put there is its own


def before_spawn(event, _):
    """What has been printed comes before what a new process prints, and is not its to print."""
    if event in SPAWNS:
        flush_streams()


def show_text(text):
    """What is shown ends its line. It goes out even where the cell has closed its stdout."""
    flush_streams()
    OUT.write((text if text.endswith('\n') else text + '\n').encode('utf-8', 'backslashreplace'))


def show_image(png):
    if isinstance(png, tuple):  # with metadata
        png = png[0]
    if isinstance(png, str):
        import base64
        png = base64.b64decode(png)
    if not png:
        return
    if len(png) > IMAGE_BYTES_MAX:
        show_text('[An image of %d bytes is not shown: %d is the most]' %
                  (len(png), IMAGE_BYTES_MAX))
        return
    say(b'i', bytes(png))


def figure_png(figure):
    png = io.BytesIO()
    figure.savefig(png, format='png', bbox_inches='tight')
    return png.getvalue()


def is_figure(thing):
    figures = sys.modules.get('matplotlib.figure')
    return figures is not None and isinstance(thing, figures.Figure)


def display(*things, **_):
    """As IPython's: the text of each, and its image where it has one."""
    for thing in things:
        show_text(repr(thing))
        if is_figure(thing):
            show_image(figure_png(thing))
        elif hasattr(type(thing), '_repr_png_'):
            show_image(thing._repr_png_())


def show_figures(*_, **__):
    """What was plotted and not yet shown. Stands for matplotlib.pyplot.show(), too."""
    helpers = sys.modules.get('matplotlib._pylab_helpers')
    if helpers is None:
        return
    for manager in helpers.Gcf.get_all_fig_managers():
        display(manager.canvas.figure)
    helpers.Gcf.destroy_all()


class PyplotFinder:
    """Gives pyplot a show() that shows, when and if it is imported."""

    @staticmethod
    def find_spec(name, path, target=None):
        spec = PathFinder.find_spec(name, path) if name == 'matplotlib.pyplot' else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_set(module):
            execute(module)
            module.show = show_figures

        spec.loader.exec_module = execute_and_set
        return spec


class StdinNotImplementedError(RuntimeError):
    """The name that kernels without a keyboard have for it."""


def no_input(*_):
    raise StdinNotImplementedError(
        'raw_input was called, but this frontend does not support input requests.')


def system(names, command):
    import subprocess
    names['_exit_code'] = subprocess.call(command, shell=isinstance(command, str))


# --- a Python without IPython --------------------------------------------------------------------

def frame_lines(frame, line):
    code, name = frame.f_code, frame.f_code.co_filename
    where = 'Cell In[%s], line %d' % (name[6:-1], line) if name.startswith('<cell ') else \
        'File %s:%d' % (name, line)
    if code.co_name != '<module>':
        names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        where += ', in %s(%s)' % (code.co_name, ', '.join(names))
    source = linecache.getlines(name, frame.f_globals)
    lines = [where]
    for n in range(max(1, line - 2), min(len(source), line + 2) + 1):
        mark = ('> %d' % n).rjust(7, '-') if n == line else '%7d' % n
        lines.append((mark + ' ' + source[n - 1]).rstrip())
    return lines + ['']


def frames_of(error):
    blocks = [frame_lines(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
              if frame.f_code.co_filename != '<kernel>']
    if len(blocks) > FRAMES_SHOWN:
        left_out = len(blocks) - FRAMES_SHOWN
        blocks[FRAMES_SHOWN // 2:-FRAMES_SHOWN // 2] = [['    [... %d frames ...]' % left_out, '']]
    return [line for block in blocks for line in block]


def error_lines(error, seen):
    """As a kernel shows it: the error that led to it first, then frames with their source."""
    seen.add(id(error))
    lines, name = [], type(error).__name__
    for other, how in ((error.__cause__, 'The above exception was the direct cause of the '
                                         'following exception:'),
                       (None if error.__suppress_context__ else error.__context__,
                        'During handling of the above exception, another exception occurred:')):
        if other is not None and id(other) not in seen:
            lines = error_lines(other, seen) + ['', how, '']
            break
    last = ''.join(traceback.format_exception_only(type(error), error)).rstrip('\n')
    if last.startswith(type(error).__module__ + '.'):
        last = last[len(type(error).__module__) + 1:]
    if isinstance(error, SyntaxError) and str(error.filename).startswith('<cell '):
        head, _, rest = last.partition('\n')
        return lines + ['  Cell In[%s], line %s' % (error.filename[6:-1], error.lineno), rest]
    return lines + ['-' * 75, name + 'Traceback (most recent call last)'.rjust(75 - len(name))] + \
        frames_of(error) + [last]


class Plain:
    """The last expression's value, tracebacks, `!command` and the few magics of MAGICS."""

    def __init__(self):
        self.names = sys.modules['__main__'].__dict__
        self.count, self.loop = 0, None
        builtins.display = display
        builtins.exit = builtins.quit = self.leave
        builtins.__line__ = self.line

    @staticmethod
    def leave(*_):
        State.leaving = True
        raise SystemExit

    def cd(self, where):
        os.chdir(os.path.expanduser(where or '~'))
        print(os.getcwd())

    def pip(self, words):
        import shlex
        system(self.names, [sys.executable, '-m', 'pip'] + shlex.split(words))

    MAGICS = {'cd': cd, 'pip': pip, 'matplotlib': lambda self, words: None}

    def line(self, text):
        if text.startswith('!'):
            system(self.names, text[1:])
        else:
            name, _, words = text[1:].partition(' ')
            self.MAGICS[name](self, words.strip())

    def is_ours(self, text):
        return text.startswith('!') or \
            text.startswith('%') and text[1:].split(' ')[0] in self.MAGICS

    def with_magics(self, code):
        lines, done = code.split('\n'), []
        while lines:
            line = lines.pop(0)
            text = line.lstrip()
            if self.is_ours(text):
                joined = 0
                while text.endswith('\\') and lines:
                    text = text[:-1] + lines.pop(0)
                    joined += 1
                line = line[:len(line) - len(line.lstrip())] + '__line__(%r)' % text + '\n' * joined
            done.append(line)
        return '\n'.join(done)

    def parse(self, code, name):
        """What is Python is left alone: a line of it may begin with % as well."""
        try:
            return ast.parse(code, name)
        except SyntaxError:
            changed = self.with_magics(code)
            if changed == code:
                raise
        return ast.parse(changed, name)

    def evaluate(self, tree, name, mode):
        flags = getattr(ast, 'PyCF_ALLOW_TOP_LEVEL_AWAIT', 0)  # 3.8
        code = compile(tree, name, mode, flags, True)
        value = eval(code, self.names)
        if code.co_flags & 0x80:  # CO_COROUTINE: there was an `await`
            import asyncio
            self.loop = self.loop or asyncio.new_event_loop()
            value = self.loop.run_until_complete(value)
        return value

    def execute(self, code):
        name = '<cell %d>' % self.count
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = self.parse(code, name)
        value, last = None, tree.body[-1:]
        if last and isinstance(last[0], ast.Expr):
            del tree.body[-1]
            last = ast.Expression(last[0].value)
        else:
            last = None
        self.evaluate(tree, name, 'exec')
        if last:
            value = self.evaluate(last, name, 'eval')
        if value is not None and not code.rstrip().endswith(';'):
            self.names['_'] = value
            display(value)

    def run(self, code):
        self.count += 1
        try:
            self.execute(code)
        except BaseException as error:
            if not State.leaving:
                show_text('\n'.join(error_lines(error, set())))


# --- with IPython --------------------------------------------------------------------------------

def with_ipython():
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    def show(data):
        if 'text/plain' in data:
            show_text(data['text/plain'])
        show_image(data.get('image/png'))

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            show(format_dict)

    class Publisher(DisplayPublisher):
        def publish(self, data, *_, **__):
            show(data)

        def clear_output(self, wait=False):
            pass

    class Shell(InteractiveShell):
        displayhook_class = Type(Hook)
        display_pub_class = Type(Publisher)

        def _showtraceback(self, etype, evalue, stb):
            if not State.leaving:
                show_text(self.InteractiveTB.stb2text(stb))

        def ask_exit(self):
            State.leaving = True

        def enable_gui(self, gui=None):
            pass  # `%matplotlib inline` asks for it

        def system(self, cmd):  # its own makes a terminal for each: a tenth of a second
            system(self.user_ns, self.var_expand(cmd, depth=1))

        def run(self, code):
            self.run_cell(code, store_history=True)

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ':memory:'
    config.InteractiveShell.colors = 'nocolor'
    shell = Shell.instance(config=config)
    shell.display_formatter.formatters['image/png'].for_type_by_name(
        'matplotlib.figure', 'Figure', figure_png)
    return shell


def make_shell():
    try:
        return with_ipython()
    except ImportError:
        return Plain()


# --- cells, one after the other ------------------------------------------------------------------

def interrupted(*_):
    State.interrupts += 1
    if State.in_cell:
        raise KeyboardInterrupt


def take_late_interrupts(sent):
    """One that was meant for an earlier cell may still be on its way: it must not end this one."""
    while State.interrupts < sent and signal.sigtimedwait([signal.SIGINT], 1):
        State.interrupts += 1
    State.interrupts = sent


def enter(directory):
    try:
        os.chdir(directory)
    except OSError as error:
        show_text('[The directory of the shell cannot be entered: %s]' % error)


def run(shell, directory, first, code):
    open_streams()
    if directory:
        enter(directory)
    if first:
        shell.run(first)
    shell.run(code)
    show_figures()
    flush_streams()


def serve(shell):
    head = CHANNEL.take(20)
    sequence, sent, *sizes = (int.from_bytes(head[i:i + 4], 'big') for i in range(0, 20, 4))
    directory, first, code = (CHANNEL.take(size) for size in sizes)
    take_late_interrupts(sent)
    signal.signal(signal.SIGINT, interrupted)
    try:
        State.in_cell = True
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
        run(shell, directory, first.decode(), code.decode())
    except BaseException as error:  # of what stands around the cell, or an interrupt at its end
        State.in_cell = False
        show_text('\n'.join(error_lines(error, set())))
    finally:
        State.in_cell = False
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    if os.getpid() != State.pid:
        os._exit(0)  # a fork that the cell let run on
    if State.leaving:
        sys.exit()
    say(b'd', sequence.to_bytes(4, 'big'))


def set_up():
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(1, 2)
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    open_streams()
    if hasattr(sys, 'addaudithook'):  # 3.8
        sys.addaudithook(before_spawn)
    sys.argv = ['']
    builtins.input = no_input
    os.environ.setdefault('MPLBACKEND', 'Agg')
    sys.meta_path.insert(0, PyplotFinder)


def main():
    set_up()
    shell = make_shell()
    builtins.input = no_input  # IPython has set its own
    sys.path[:0] = PATH_HERE
    say(b'h', os.fsencode(sys.executable))
    while True:
        serve(shell)


START = {'stdout': sys.stdout, 'stderr': sys.stderr}
CHANNEL, OUT = Pipe(os.dup(0), '<channel>'), Pipe(os.dup(1), '<out>')
main()
