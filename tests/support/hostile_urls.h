// URLs by which somebody may try to make us dial an address that is not theirs to choose: for tests
// of the address guard and of whatever takes URLs of tenants.
#pragma once

#include <string>

namespace hostler::testing_support {

// # is the canary's port.
inline constexpr const char* hostile_urls[] = {
    // Loopback, in the forms that parsers have fallen for.
    "http://127.0.0.1:#/", "http://127.0.0.1:#", "http://127.0.0.1.:#/", "http://127.1:#/",
    "http://127.0.1:#/", "http://127.255.255.255:#/", "http://127.0.0.2:#/", "http://0:#/",
    "http://0.0.0.0:#/", "http://0.0:#/", "http://00.0.0.0:#/", "http://2130706433:#/",
    "http://017700000001:#/", "http://0177.0.0.1:#/", "http://0177.0.0.01:#/",
    "http://0x7f.0.0.1:#/", "http://0x7f000001:#/", "http://0x7f.1:#/",
    "http://0X7F.0x0.0x0.0x1:#/", "http://127.0x1:#/", "http://127.0.0x0.1:#/",
    "http://00000177.1:#/", "http://4294967296:#/", "http://6425673729:#/",
    "http://127.000.000.001:#/", "http://0000127.0.0.1:#/", "http://localhost:#/",
    "http://LOCALHOST:#/", "http://localhost.:#/", "http://LocalHost:#/", "http://app.localhost:#/",
    "http://localhost.localdomain:#/", "http://ip6-localhost:#/", "http://ip6-loopback:#/",
    "http://%6c%6f%63%61%6c%68%6f%73%74:#/", "http://127%2e0%2e0%2e1:#/",
    "http://%31%32%37.0.0.1:#/", "http://%35:#/", "http://127.0.0.1%00.example.com:#/",
    "http://127.0.0.1%20:#/",
    // Other scripts and full stops.
    "http://\u2460\u2461\u2466.0.0.1:#/", "http://127\u30020\u30020\u30021:#/",
    "http://127\uFF0E0\uFF0E0\uFF0E1:#/", "http://\uFF11\uFF12\uFF17.0.0.1:#/",
    "http://\uFF4C\uFF4F\uFF43\uFF41\uFF4C\uFF48ost:#/", "http://l\u24DEcalhost:#/",
    // IPv6.
    "http://[::1]:#/", "http://[::]:#/", "http://[0:0:0:0:0:0:0:1]:#/", "http://[0000::0001]:#/",
    "http://[::0001]:#/", "http://[::127.0.0.1]:#/", "http://[::ffff:127.0.0.1]:#/",
    "http://[::ffff:7f00:1]:#/", "http://[::FFFF:7F00:0001]:#/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]:#/", "http://[::ffff:0.0.0.0]:#/",
    "http://[::ffff:0:127.0.0.1]:#/", "http://[64:ff9b::7f00:1]:#/",
    "http://[64:ff9b::127.0.0.1]:#/", "http://[64:ff9b:1::7f00:1]:#/", "http://[2002:7f00:1::]:#/",
    "http://[2002:7f00:0001::1]:#/", "http://[2001:0:7f00:1::]:#/", "http://[fe80::1]:#/",
    "http://[fe80::1%25lo]:#/", "http://[fe80::1%lo]:#/", "http://[::1%25lo]:#/",
    "http://[::1%25]:#/", "http://[fc00::1]:#/", "http://[fd00::1]:#/", "http://[fec0::1]:#/",
    "http://[ff02::1]:#/", "http://[ff01::1]:#/", "http://[100::1]:#/", "http://[2001:db8::1]:#/",
    "http://[5f00::1]:#/", "http://[v1.127.0.0.1]:#/", "http://[127.0.0.1]:#/", "http://[::1.]:#/",
    "http://[[::1]]:#/",
    // Private, shared, link-local, platform, reserved, multicast, documentation, benchmark.
    "http://10.0.0.1:#/", "http://10.255.255.255:#/", "http://172.16.0.1:#/",
    "http://172.31.255.254:#/", "http://192.168.0.1:#/", "http://192.168.1.1:#/",
    "http://3232235777:#/", "http://0xc0a80101:#/", "http://100.64.0.1:#/",
    "http://100.100.100.200/latest/meta-data/", "http://169.254.169.254/",
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/latest/meta-data/",
    "http://0xa9fea9fe/", "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/",
    "http://[fd00:ec2::254]/latest/meta-data/", "http://168.63.129.16/",
    "http://192.0.0.192/opc/v2/", "http://169.254.0.1:#/", "http://192.0.0.1:#/",
    "http://192.0.2.1:#/", "http://192.88.99.1:#/", "http://198.18.0.1:#/",
    "http://198.51.100.1:#/", "http://203.0.113.1:#/", "http://224.0.0.1:#/",
    "http://239.255.255.250:1900/", "http://240.0.0.1:#/", "http://255.255.255.255:#/",
    // User info, fragments, slashes: which part is the host?
    "http://example.com@127.0.0.1:#/", "http://127.0.0.1:#@127.0.0.1:#/", "http://u:p@127.0.0.1:#/",
    "http://@127.0.0.1:#/", "http://:@127.0.0.1:#/", "http://example.com#@127.0.0.1:#/x",
    "http://127.0.0.1:#\\@example.com/", "http://127.0.0.1\\:#/", "http:\\\\127.0.0.1:#/",
    "http:/127.0.0.1:#/", "http:127.0.0.1:#/", "http:///127.0.0.1:#/", "http:////127.0.0.1:#/",
    "//127.0.0.1:#/", "127.0.0.1:#/", "http://127.0.0.1 :#/", "http:// 127.0.0.1:#/",
    " http://127.0.0.1:#/", "http://127.0.0.1\t:#/", "http://127.0.0.1\r\nHost: x:#/",
    "http://127.0.0.1:#/ HTTP/1.1\r\nX: y", "http://127.0.0.1:0#/", "http://127.0.0.1:+#/",
    "http://127.0.0.1:#:#/", "http://127.0.0.1:", "http://127.0.0.1:99999/",
    // Other schemes.
    "https://127.0.0.1:#/", "https://localhost:#/", "HTTPS://[::1]:#/", "HtTp://127.0.0.1:#/",
    "gopher://127.0.0.1:#/_x", "dict://127.0.0.1:#/x", "ftp://127.0.0.1:#/", "tftp://127.0.0.1:#/x",
    "ldap://127.0.0.1:#/", "imap://127.0.0.1:#/", "smtp://127.0.0.1:#/", "telnet://127.0.0.1:#/",
    "rtsp://127.0.0.1:#/", "mqtt://127.0.0.1:#/x", "smb://127.0.0.1:#/x", "scp://127.0.0.1:#/x",
    "ws://127.0.0.1:#/", "file:///etc/passwd", "file://127.0.0.1/etc/passwd",
    "jar:http://127.0.0.1:#/!/", "unix:///run/x.sock", "http+unix://%2frun%2fx.sock/",
    "data:text/plain,x", "javascript:1", "x://y", "", ":", "://", "http", "http:", "http:/",
    "http://", "http://:#/", "http://.:#/", "http://..:#/"};

inline std::string with_port(std::string url, int port) {
  for (size_t at = url.find('#'); at != std::string::npos; at = url.find('#', at)) {
    // The one real fragment of the list is followed by @.
    if (url.compare(at, 2, "#@") == 0 && url.find("com#") != std::string::npos) {
      ++at;
      continue;
    }
    url.replace(at, 1, std::to_string(port));
  }
  return url;
}

}  // namespace hostler::testing_support
