# Files of `make install` and their places, and the Debian package. Included by the top level Makefile.

installed := $(DESTDIR)$(PREFIX)

.PHONY: install install-documents
# There the root's documents and those of docs lie in one folder, so links between the two lose a level.
install-documents:
	install -d $(installed)/share/doc/hostler
	set -e; for page in $(DOCUMENTS) $(wildcard docs/*.md); do \
	  sed -e 's,](docs/,](,g' -e 's,](\.\./,](,g' $$page > $(installed)/share/doc/hostler/$${page##*/}; \
	  chmod 644 $(installed)/share/doc/hostler/$${page##*/}; \
	done
	set -e; for folder in cluster console monitoring performance; do \
	  install -D -m 644 -t $(installed)/share/doc/hostler/$$folder docs/$$folder/*; \
	done
	install -D -m 644 -t $(installed)/share/doc/hostler/examples/chat examples/chat/*

install: programs install-documents ## programs, SQL, nginx and documents below DESTDIR and PREFIX
	install -D -m 755 -t $(installed)/libexec/hostler $(BUILD)/hostler-api $(BUILD)/hostler-runner $(BUILD)/hostler-files
	install -D -m 755 -t $(installed)/bin $(BUILD)/hostlerctl
	install -D -m 644 -t $(installed)/share/hostler/sql sql/VERSION
	install -D -m 644 -t $(installed)/share/hostler/sql/schema sql/schema/order sql/schema/*.sql
	install -D -m 644 -t $(installed)/share/hostler/sql/migrations sql/migrations/*.sql
	install -D -m 644 -t $(installed)/share/hostler/sql/queries sql/queries/*.sql
	install -D -m 644 -t $(installed)/share/hostler docs/openapi.yaml
	$(BUILD)/hostler-api --print-config > $(installed)/share/doc/hostler/hostler.toml
	[ ! -f build/console/index.html ] || install -D -m 644 -t $(installed)/share/hostler/console build/console/*
	nginx/render $(DESTDIR)/etc/nginx/hostler
	install -d $(DESTDIR)/etc/nginx/sites-available
	mv $(DESTDIR)/etc/nginx/hostler/hostler.conf $(DESTDIR)/etc/nginx/sites-available/hostler
	install -D -m 644 -t $(DESTDIR)/etc/hostler systemd/hostler.toml
	install -D -m 644 -t $(DESTDIR)$(UNITDIR) $(wildcard systemd/*.service systemd/*.socket systemd/*.target)
	install -D -m 644 -t $(installed)/share/hostler/systemd systemd/nginx.conf systemd/api-with-network.conf \
	  systemd/runner-public-network.conf
	install -D -m 644 systemd/hostler.sysusers $(installed)/lib/sysusers.d/hostler.conf
	install -D -m 644 systemd/hostler.tmpfiles $(installed)/lib/tmpfiles.d/hostler.conf
	install -D -m 644 -t $(installed)/share/man/man7 docs/man/hostler.7
	install -D -m 644 -t $(installed)/share/man/man8 docs/man/hostler-api.8 docs/man/hostler-runner.8
	install -d $(installed)/share/man/man1 $(installed)/share/man/man5
	docs/man/hostlerctl.1.sh $(BUILD)/hostlerctl > $(installed)/share/man/man1/hostlerctl.1
	docs/man/hostler.toml.5.sh $(BUILD)/hostler-api > $(installed)/share/man/man5/hostler.toml.5
	install -d $(addprefix $(installed)/share/,bash-completion/completions zsh/vendor-completions fish/vendor_completions.d)
	$(BUILD)/hostlerctl completion bash > $(installed)/share/bash-completion/completions/hostlerctl
	$(BUILD)/hostlerctl completion zsh > $(installed)/share/zsh/vendor-completions/_hostlerctl
	$(BUILD)/hostlerctl completion fish > $(installed)/share/fish/vendor_completions.d/hostlerctl.fish

# From a checkout the files that git knows, from an unpacked archive all its files. The built console goes along, so
# that a build of the archive needs no network.
list_sources = { if [ -e .git ]; then git ls-files; else find . -type f ! -path './build/*' ! -path './var/*' -printf '%P\n'; fi; \
  [ ! -f build/console/index.html ] || find build/console -type f; } | LC_ALL=C sort

.PHONY: dist
dist: ## the sources as an archive, in build, with the console when it is built
	@$(list_sources) | tar -czf build/hostler-$(VERSION).tar.gz --owner=0 --group=0 \
	  --transform 's,^,hostler-$(VERSION)/,' -T -
	@ls -l build/hostler-$(VERSION).tar.gz

.PHONY: deb
deb: ## the Debian package, in build/deb
	@$(stack)/install-packages build deb
	rm -rf build/deb && mkdir -p build/deb/hostler
	$(list_sources) | xargs -d '\n' cp --parents -t build/deb/hostler
	cd build/deb/hostler && dpkg-buildpackage -us -uc -b
	lintian --fail-on error,warning build/deb/*.changes
	@ls -l build/deb/*.deb
