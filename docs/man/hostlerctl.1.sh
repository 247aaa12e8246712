#!/bin/sh
# Writes hostlerctl's manual page around its own help:  hostlerctl.1.sh HOSTLERCTL > hostlerctl.1
set -eu
cat <<'HEAD'
.Dd November 20, 2026
.Dt HOSTLERCTL 1
.Os
.Sh NAME
.Nm hostlerctl
.Nd operator's command line of Hostler
.Sh SYNOPSIS
.Nm hostlerctl
.Op Fl -config Ar FILE
.Op Fl o Cm text | json
.Ar COMMAND
.Op Ar ...
.Sh DESCRIPTION
.Nm
talks to Postgres directly, never over HTTP: as a superuser, or as a member of the role
.Li hostler_owner ,
with
.Li database.url
of
.Xr hostler.toml 5 .
On the host of Postgres those are the system's user
.Li postgres ,
and root once
.Ic setup
made it a member.
Passwords are asked for or read from standard input, never taken from the command line.
.Sh COMMANDS
.Bd -literal
HEAD
"$1" --help-all | sed -e 's/\\/\\e/g' -e "s/^[.']/\\\\\&&/" -e 's/-/\\-/g'
cat <<'TAIL'
.Ed
.Sh KEYS OF STORED SECRETS
.Ic secret rotate
adds a key to the file of
.Li secrets.key_file
and puts every stored secret under it, in batches of their own transactions, while the programs run.
Killed at any moment it goes on when it is called again.
The old keys stay in the file: each secret opens at every moment.
.Pp
Where programs or other hosts have a copy of the file, as systemd hands it to the packaged units,
.Ic secret rotate Fl -prepare
comes first: the new key stands in the file behind the word
.Li next
and only opens.
When every host has that file and the programs were restarted,
.Ic secret rotate
uses it; restart them once more, and say it again for what they stored meanwhile.
.Sh EXIT STATUS
0 when what was asked for is done; else as in sysexits.h: 64 bad command line, 65 bad input or nothing of that name,
69 the database is out of reach, 70 an error of ours, 73 a file or a result that cannot be written,
75 something is locked, try again, 77 not allowed, 78 bad settings.
.Sh SEE ALSO
.Xr hostler.toml 5 ,
.Xr hostler 7 ,
.Xr hostler-api 8 ,
.Xr hostler-runner 8
TAIL
