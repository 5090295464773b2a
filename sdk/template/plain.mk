# SPDX-License-Identifier: Apache-2.0
# The driver with make and nothing else: make -f plain.mk [check | install]
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
drivers := $(shell $(PKG_CONFIG) --variable=driversdir accel-driver)
conform := $(shell $(PKG_CONFIG) --variable=bindir accel-driver)/accel-conform

template.so: driver.c
	$(CC) $(CFLAGS) -Wall -Wextra -fPIC -shared $< -o $@ \
		$(shell $(PKG_CONFIG) --cflags accel-driver) $(LDFLAGS) $(shell $(PKG_CONFIG) --libs accel-driver)

check: template.so
	$(conform) $(abspath $<)

install: template.so
	install -D -m 755 $< $(DESTDIR)$(drivers)/$<

clean:
	rm -f template.so

.PHONY: check install clean
