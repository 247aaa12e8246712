#!/usr/bin/perl
# What Hostler calls, on a host that has perl and nothing else: a captcha's server on port 8091, which likes everybody,
# and a mail server on port 8025, which takes everything. Run by tests/host/run; says what it took.
use strict;
use warnings;
use IO::Socket::INET;

$| = 1;
$SIG{CHLD} = 'IGNORE';

sub serve {
    my ($port, $conversation) = @_;
    return if fork;
    my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 64, ReuseAddr => 1)
        or die "port $port: $!";
    while (my $client = $server->accept) {
        next if fork;
        $client->autoflush(1);
        $conversation->($client);
        exit 0;
    }
}

sub captcha {
    my ($client) = @_;
    while (defined(my $line = <$client>)) {
        my $length = 0;
        while ($line ne "\r\n") {
            $length = $1 if $line =~ /^content-length: *(\d+)/i;
            $line = <$client> // return;
        }
        my $form = "";
        read $client, $form, $length;
        print "captcha $form\n";
        print $client "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"success\":true}";
    }
}

sub mail {
    my ($client) = @_;
    print $client "220 ready\r\n";
    while (defined(my $line = <$client>)) {
        if ($line =~ /^data/i) {
            print $client "354 go on\r\n";
            while (defined($line = <$client>) && $line ne ".\r\n") { print "mail $line" }
        }
        return print $client "221 bye\r\n" if $line =~ /^quit/i;
        print $client "250 well\r\n";
    }
}

serve(8091, \&captcha);
serve(8025, \&mail);
