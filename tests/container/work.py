"""The work that test_work.py lets every library do inside the container. This file is the code on standard input: it prints what each
piece gives as JSON, and leaves files in the working directory, which the test looks at on the host."""

import errno
import json
import os
import sys
import time
import traceback
import warnings

warnings.simplefilter("error", UserWarning)  # matplotlib's for a glyph that no font has
results = {}


def piece(function):
    """Does a piece of work at once. One that fails leaves its traceback, and the others go on."""
    started = time.monotonic()
    try:
        results[function.__name__] = function()
    except Exception:
        results[function.__name__] = {"error": traceback.format_exc()}
    print(f"{function.__name__}: {time.monotonic() - started:.2f} s", file=sys.stderr)
    return function


@piece
def plot():
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), dpi=100)
    axes.plot([1, 2, 3, 4], [1, 4, 9, 16])
    axes.set_title("Продажи за год, ₽")
    figure.savefig("график.png")
    pyplot.close(figure)


@piece
def spreadsheet():
    import pandas

    table = pandas.DataFrame({"месяц": ["январь", "февраль", "март"], "сумма": [1200, 850, 1950.5]})
    table.to_excel("продажи.xlsx", sheet_name="Продажи", index=False)
    again = pandas.read_excel("продажи.xlsx", sheet_name="Продажи")
    return {"sum": float(again["сумма"].sum()), "months": list(again["месяц"])}


@piece
def openpyxl():
    import openpyxl

    book = openpyxl.Workbook()
    book.active["A1"], book.active["A2"], book.active["A3"] = 2, 40, "=SUM(A1:A2)"
    book.save("формула.xlsx")
    return openpyxl.load_workbook("формула.xlsx").active["A3"].value


@piece
def pdf():
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    pdfmetrics.registerFont(TTFont("DejaVu", "DejaVuSans.ttf"))
    canvas = Canvas("отчёт.pdf", pagesize=(300, 200))
    for text in ("Отчёт", "Итог"):
        canvas.setFont("DejaVu", 14)
        canvas.drawString(40, 100, text)
        canvas.showPage()
    canvas.save()


@piece
def document():
    import docx

    document = docx.Document()
    document.add_heading("Договор", 1)
    document.add_paragraph("Стороны согласились.")
    table = document.add_table(rows=2, cols=3)
    table.cell(1, 2).text = "подпись"
    document.save("договор.docx")
    return [paragraph.text for paragraph in docx.Document("договор.docx").paragraphs]


@piece
def numbers():
    import numpy
    import pandas
    from scipy import integrate, linalg, optimize, stats

    frame = pandas.DataFrame({"key": ["a", "b", "a"], "value": [1, 2, 3]})
    return {
        "solved": numpy.linalg.solve([[2, 1], [1, 3]], [3, 5]).tolist(),
        "grouped": frame.groupby("key")["value"].sum().to_dict(),
        "gauss": integrate.quad(lambda x: numpy.exp(-x * x), -numpy.inf, numpy.inf)[0],
        "determinant": linalg.det([[1, 2], [3, 4]]),
        "minimum": optimize.minimize(optimize.rosen, [0.0, 0.0]).x.tolist(),
        "normal": stats.norm.cdf(1.96),
    }


@piece
def model():
    import joblib
    import numpy
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import GridSearchCV

    flowers, kinds = load_iris(return_X_y=True)
    search = GridSearchCV(RandomForestClassifier(random_state=1), {"n_estimators": [5, 10]}, n_jobs=2, cv=3).fit(flowers, kinds)
    joblib.dump(search.best_estimator_, "модель.joblib")
    line = LinearRegression().fit(numpy.arange(10).reshape(-1, 1), 3 * numpy.arange(10) + 2)

    def work(number):  # of __main__, which is the code on standard input
        return number * number, os.getpid()

    done = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(work)(number) for number in range(8))
    large = numpy.ones(2_000_000)  # joblib shares it by memory mapping
    sums = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(numpy.sum)(large) for _ in range(2))
    return {"score": search.best_score_, "again": joblib.load("модель.joblib").score(flowers, kinds),
            "line": [line.coef_[0], line.intercept_],
            "squares": [square for square, _ in done], "processes": os.getpid() not in {process for _, process in done},
            "sums": [float(number) for number in sums]}


@piece
def time_zones():
    import datetime
    import zoneinfo

    import pandas

    noon = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)
    return {"zoneinfo": [noon.astimezone(zoneinfo.ZoneInfo(zone)).isoformat() for zone in ("Europe/Moscow", "America/New_York")],
            "pandas": pandas.Timestamp("2024-01-01 12:00", tz="UTC").tz_convert("Asia/Vladivostok").isoformat(),
            "local": time.strftime("%H %Z", time.localtime(noon.timestamp())),
            "zones": len(zoneinfo.available_timezones()) > 400}


@piece
def locales():
    import locale

    given = locale.setlocale(locale.LC_ALL, "")
    try:
        locale.setlocale(locale.LC_ALL, "ru_RU.UTF-8")
        return {"given": given, "month": time.strftime("%B", (2024, 5, 1, 0, 0, 0, 2, 122, 0)),
                "sorted": sorted("ёжя", key=locale.strxfrm), "files": sys.getfilesystemencoding()}
    finally:
        locale.setlocale(locale.LC_ALL, given)


@piece
def temporary_files():
    import tempfile

    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w+", dir=folder) as file:
        file.write("данные")
        file.flush()
        os.link(file.name, f"{folder}/вторая")
        os.rename(f"{folder}/вторая", f"{folder}/третья")
        os.mkdir(f"{folder}/папка")
        try:
            os.rename(f"{folder}/третья", f"{folder}/папка/третья")
            elsewhere = "OK"
        except OSError as error:
            elsewhere = errno.errorcode[error.errno]
        with open(file.name) as again:
            return {"folder": tempfile.gettempdir(), "text": again.read(), "elsewhere": elsewhere}


@piece
def commands():
    import subprocess

    shell = subprocess.run("printf 'б\\nа\\n' | sort | tr '\\n' ' '; exit 3", shell=True, capture_output=True, text=True)
    sums = subprocess.run(["sha256sum"], input=b"abc", capture_output=True, check=True).stdout.decode().split()[0]
    fonts = subprocess.run(["fc-list", ":lang=ru", "family"], capture_output=True, text=True, check=True)
    silent = subprocess.run([sys.executable, "-c", "print(1)"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return {"shell": [shell.stdout, shell.returncode], "sha256": sums, "fonts": "DejaVu Sans" in fonts.stdout, "said": fonts.stderr,
            "python": [silent.returncode, silent.stderr.decode()], "built": os.path.exists(f"{os.environ['XDG_CACHE_HOME']}/fontconfig")}


@piece
def database():
    import sqlite3

    with sqlite3.connect("база.db") as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE числа (значение INTEGER)")
        connection.executemany("INSERT INTO числа VALUES (?)", ((number,) for number in range(1000)))
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.execute("VACUUM")
    connection.close()


def square(number):
    return number * number, os.getpid()


@piece
def processes():
    import concurrent.futures
    import multiprocessing

    with open("помощник.py", "w") as file:  # a spawned process imports what it does: there is no file of __main__
        file.write("import os\ndef cube(number):\n    return number ** 3, os.getpid()\n")
    from помощник import cube

    results = {}
    for method, work in (("fork", square), ("spawn", cube), ("forkserver", cube)):
        with multiprocessing.get_context(method).Pool(2) as pool:
            done = pool.map(work, range(6), chunksize=1)
        results[method] = [[number for number, _ in done], os.getpid() not in {process for _, process in done}]
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        results["executor"] = [number for number, _ in pool.map(square, range(4))]
    return results


def fill(name):
    from multiprocessing import shared_memory

    import numpy

    memory = shared_memory.SharedMemory(name)
    numpy.ndarray((1000,), dtype="int64", buffer=memory.buf)[:] = range(1000)
    memory.close()


@piece
def shared_memory():
    import multiprocessing
    from multiprocessing import shared_memory

    import numpy

    memory = shared_memory.SharedMemory(create=True, size=8000)
    process = multiprocessing.get_context("fork").Process(target=fill, args=(memory.name,))
    process.start()
    process.join()
    total = int(numpy.ndarray((1000,), dtype="int64", buffer=memory.buf).sum())
    memory.close()
    memory.unlink()
    lock = multiprocessing.Lock()
    with lock:
        return {"sum": total, "exit": process.exitcode}


@piece
def pictures():
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (320, 200), "white")
    ImageDraw.Draw(picture).text((20, 80), "Привет", fill="black", font=ImageFont.truetype("DejaVuSans.ttf", 40))
    picture.save("привет.jpg", quality=90)
    with Image.open("привет.jpg") as again:
        dark = sum(value < 100 for value in again.convert("L").getdata())
        again.thumbnail((32, 32))
        return {"dark": dark, "thumbnail": again.size}


@piece
def xml():
    from lxml import etree

    tree = etree.fromstring("<список><вещь цена='5'/><вещь цена='7'/></список>")
    sheet = etree.XSLT(etree.fromstring(
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">'
        '<итог><xsl:value-of select="sum(//@цена)"/></итог></xsl:template></xsl:stylesheet>'))
    return {"prices": tree.xpath("//вещь/@цена"), "total": sheet(tree).getroot().text}


print(json.dumps(results))
