#!/bin/sh
# Writes the manual page of the settings from the programs' own table:  hostler.toml.5.sh HOSTLER-API > hostler.toml.5
set -eu
cat <<'HEAD'
.Dd November 20, 2026
.Dt HOSTLER.TOML 5
.Os
.Sh NAME
.Nm hostler.toml
.Nd settings of Hostler's programs
.Sh DESCRIPTION
.Pa /etc/hostler/hostler.toml
and
.Pa /etc/hostler/conf.d/*.toml
are TOML files.
An unknown name is an error, reported with file, line and column.
Each setting is also an environment variable:
.Li api.workers
is
.Ev HOSTLER_API_WORKERS .
An administrator may change settings marked live over HTTP while the programs run.
The stored value overrides file and environment.
.Pp
The lines below are the file that
.Ic hostler-api --print-config
prints, with the defaults.
.Sh SETTINGS
.Bd -literal
HEAD
env -i "$1" --config /dev/null --print-config | sed -e 's/\\/\\e/g' -e "s/^[.']/\\\\\&&/" -e 's/-/\\-/g'
cat <<'TAIL'
.Ed
.Sh SEE ALSO
.Xr hostlerctl 1 ,
.Xr hostler 7 ,
.Xr hostler-api 8 ,
.Xr hostler-runner 8
TAIL
