# The mypy image: Python and its libraries for the code of one chat, with landlock-exec in front. README.md, "Preparing the mypy image".
# BASE: an official python image on Debian, or Debian itself.
ARG BASE=python:3.12-slim-bookworm

# ---- What compiles landlock-exec; none of it is in the image ----

FROM ${BASE} AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc libc6-dev cmake make musl-tools libcap-ng-dev libmount-dev libjansson-dev \
 && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN cmake -S /source -B /build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF \
 && cmake --build /build --parallel \
 && DESTDIR=/stage cmake --install /build \
 && install -D --mode=644 /stage/usr/libexec/landlock-exec/main.py /stage/opt/main.py

# ---- The image ----

FROM ${BASE}
ARG LOCALES="en_US ru_RU"

# Fonts, time zones and locales; the libraries of landlock-exec's helper and of landlock-policy; Python's libraries. A font folder's time is a whole second,
# which every way of copying an image keeps: else fontconfig would take its cache for stale and look at all fonts at each start.
# Debian's scipy depends on a compiler, which the policy lets nobody execute: at least its headers stay out.
RUN set -eu; export DEBIAN_FRONTEND=noninteractive; \
    if [ -x /usr/local/bin/python3 ]; then libraries=; else \
        libraries="python3 python3-numpy python3-pandas python3-scipy python3-sklearn python3-matplotlib python3-openpyxl \
                   python3-docx python3-reportlab python3-pil python3-lxml"; fi; \
    printf 'path-exclude=%s\n' '/usr/include/*' '/usr/share/doc/*' '/usr/share/man/*' >/etc/dpkg/dpkg.cfg.d/mypy; \
    apt-get update; \
    apt-get install --yes --no-install-recommends fontconfig fonts-dejavu-core tzdata locales libcap-ng0 libmount1 libjansson4 $libraries; \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log; \
    for locale in ${LOCALES}; do localedef --inputfile="$locale" --charmap=UTF-8 "$locale.UTF-8"; done; \
    find /usr/share/fonts /usr/local/share/fonts -type d -exec touch --date=@0 {} +; \
    fc-cache --force --system-only; \
    if [ -z "$libraries" ]; then \
        pip install --no-cache-dir numpy pandas scipy scikit-learn matplotlib openpyxl python-docx reportlab Pillow lxml; \
        python3 -m compileall -q -x '/(site-packages|lib2to3|test)/' /usr/local/lib/python3.*/; \
    fi; \
    install --directory --owner=1000 --group=1000 /sandbox

# Everything of root's, and nobody else can write it: COPY gives no other owner, cmake installs with mode 644 or 755.
COPY --from=build /stage /

USER 1000:1000
ENTRYPOINT ["landlock-exec", "--policy", "/etc/landlock-exec/interpreter.policy", "--"]
CMD ["python3", "/opt/main.py"]
