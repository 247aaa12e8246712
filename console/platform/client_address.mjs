// Whose address a request has by the gateway's rules, as lib/net/client_address.cpp finds it: for
// trying a configuration before it is saved.

// {bytes, text} of an address, or null. IPv4 in IPv6 (::ffff:192.0.2.1) is the IPv4 one.
export function parse_address(text) {
  const v4 = text.match(/^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/);
  if (v4) {
    const bytes = v4.slice(1).map(Number);
    const is_good = v4.slice(1).every((part) => String(Number(part)) === part && part < 256);
    return is_good ? { bytes, text } : null;
  }
  if (!/^[0-9a-f:.]+$/i.test(text) || !text.includes(':')) return null;
  let host;
  try {
    host = new URL(`http://[${text}]`).hostname.slice(1, -1);
  } catch {
    return null;
  }
  const [head, tail] = host.split('::').map((half) => half.split(':').filter(Boolean));
  const missing = 8 - head.length - (tail?.length ?? 0);
  const words = tail ? [...head, ...new Array(missing).fill('0'), ...tail] : head;
  const bytes = words.flatMap((word) => [parseInt(word, 16) >> 8, parseInt(word, 16) & 255]);
  const is_mapped = bytes.slice(0, 10).every((one) => one === 0) && bytes[10] + bytes[11] === 510;
  if (!is_mapped) return { bytes, text: host };
  return { bytes: bytes.slice(12), text: bytes.slice(12).join('.') };
}

const is_port = (text) => /^:\d{1,5}$/.test(text) && Number(text.slice(1)) < 65536;

// Addresses in the form that proxies write: with or without a port, IPv6 in brackets or bare.
export function parse_hop(written) {
  const text = written.trim();
  const boxed = text.match(/^\[([^\]]*)\](.*)$/);
  if (boxed) {
    const is_good = boxed[1].includes(':') && (boxed[2] === '' || is_port(boxed[2]));
    return is_good ? parse_address(boxed[1]) : null;
  }
  const colon = text.indexOf(':');
  if (colon < 0 || colon !== text.lastIndexOf(':')) return parse_address(text);
  return is_port(text.slice(colon)) ? parse_address(text.slice(0, colon)) : null;
}

export function is_within(address, network) {
  const [text, length] = network.trim().split('/');
  const base = parse_address(text);
  if (!base || base.bytes.length !== address.bytes.length) return false;
  const was_mapped = text.includes(':') && base.bytes.length === 4;
  const given = length === undefined ? undefined : Number(length) - (was_mapped ? 96 : 0);
  const bits = given ?? base.bytes.length * 8;
  return base.bytes.every((byte, at) => {
    const counted = Math.min(8, Math.max(0, bits - at * 8));
    const mask = (0xff << (8 - counted)) & 0xff;
    return (byte & mask) === (address.bytes[at] & mask);
  });
}

// {address, why: 'direct', 'untrusted', 'no_header' or 'header'}; null where the peer is no
// address.
export function client_address({ ip_mode, trusted_cidrs }, { peer, forwarded_for, connecting_ip }) {
  const from = parse_hop(peer);
  if (!from) return null;
  const is_trusted = (address) => trusted_cidrs.some((network) => is_within(address, network));
  if (ip_mode === 'direct') return { address: from.text, why: 'direct' };
  if (!is_trusted(from)) return { address: from.text, why: 'untrusted' };
  let found = null;
  if (ip_mode === 'cdn') {
    found = parse_hop(connecting_ip);
  } else {
    // From the right: the first that is not trusted; what is no address ends the walk.
    for (const part of forwarded_for.trim() ? forwarded_for.split(',').reverse() : []) {
      const hop = parse_hop(part);
      if (!hop) break;
      found = hop;
      if (!is_trusted(hop)) break;
    }
  }
  return found
    ? { address: found.text, why: 'header' }
    : { address: from.text, why: 'no_header' };
}
