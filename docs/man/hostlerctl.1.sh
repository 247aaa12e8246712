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
connects to Postgres directly, never over HTTP.
It needs a superuser or a member of the role
.Li hostler_owner ,
and uses
.Li database.url
of
.Xr hostler.toml 5 .
On the host of Postgres, run it as the system's user
.Li postgres ,
or as root after
.Ic setup
made root a member.
It asks for passwords or reads them from standard input, and never takes them from the command line.
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
If it is killed, call it again, and it continues.
The old keys stay in the file, so that each secret opens at every moment.
.Pp
systemd gives the packaged units a copy of the file, and other hosts may have copies too.
In that case run
.Ic secret rotate Fl -prepare
first.
The file then has the new key after the word
.Li next ,
and programs only open secrets with it.
Copy the file to every host and restart the programs.
Then run
.Ic secret rotate ,
which uses the new key.
Restart the programs once more, and run it again for secrets that they stored meanwhile.
.Sh EXIT STATUS
0 if the command succeeded.
Otherwise the status is as in sysexits.h: 64 bad command line, 65 bad input or unknown name,
69 the database cannot be reached, 70 a fault of ours, 73 a file or a result cannot be written,
75 something is locked, try again, 77 not allowed, 78 bad settings.
.Sh SEE ALSO
.Xr hostler.toml 5 ,
.Xr hostler 7 ,
.Xr hostler-api 8 ,
.Xr hostler-runner 8
TAIL
