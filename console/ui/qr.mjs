// A QR code as a picture in the page. Loaded with the dialog that shows one.
import { correction, generate } from 'lean-qr/nano';
import { html } from '../html.mjs';

const quiet_zone = 4; // modules around it, by ISO/IEC 18004

// Dark on white in both colours of the page, as cameras expect it. `label`: what it says, for
// readers of the screen.
/** @param {{text: string, label: string}} props */
export function QrCode({ text, label }) {
  const code = generate(text, { minCorrectionLevel: correction.M });
  const side = code.size + 2 * quiet_zone;
  let dark = '';
  for (let y = 0; y < code.size; ++y) {
    for (let x = 0; x < code.size; ++x) {
      if (code.get(x, y)) dark += `M${x + quiet_zone} ${y + quiet_zone}h1v1h-1z`;
    }
  }
  return html`<svg class="qr" role="img" aria-label=${label} viewBox=${`0 0 ${side} ${side}`}
    shape-rendering="crispEdges"><path fill="#fff" d=${`M0 0h${side}v${side}h-${side}z`} />
    <path fill="#000" d=${dark} /></svg>`;
}
