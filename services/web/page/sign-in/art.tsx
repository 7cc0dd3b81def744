const white = '#ffffff'
const ink = '#2f4bbd'

interface SpeechProps {
  x: number
  y: number
  width: number
  height: number
  face: string
  /** The lengths of its lines. The first line stands for the name. */
  lines: readonly number[]
}

/** A message, drawn as lines without letters. */
const Speech = ({ x, y, width, height, face, lines }: SpeechProps) => (
  <g transform={`translate(${x} ${y})`}>
    <rect y="8" width={width} height={height} rx="18" fill="#16246b" opacity="0.25" />
    <rect width={width} height={height} rx="18" fill={white} />
    <rect x="18" y="18" width="38" height="38" rx="11" fill={face} />
    {lines.map((length, index) => (
      <rect
        key={index}
        x="72"
        y={22 + index * 20}
        width={length}
        height="9"
        rx="4.5"
        fill={ink}
        opacity={index === 0 ? 0.75 : 0.2}
      />
    ))}
  </g>
)

/** A decorative drawing of a conversation, shown beside the form on a wide page. */
export const SignInArt = () => (
  <svg class="sign-in-art" viewBox="0 0 640 720" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
    <g fill={white} opacity="0.06">
      <circle cx="560" cy="80" r="210" />
      <circle cx="70" cy="690" r="250" />
    </g>
    <Speech x={92} y={112} width={350} height={94} face="#ffcfb0" lines={[96, 230, 168]} />
    <g transform="translate(164 196)">
      <rect width="62" height="30" rx="15" fill="#e4eafd" stroke={ink} stroke-opacity="0.5" />
      <path d="M20 21.5c-5-3.5-7-6-7-8.7a3.7 3.7 0 0 1 7-1.7 3.7 3.7 0 0 1 7 1.7c0 2.7-2 5.200-7 8.7z" fill="#d2405b" />
      <rect x="36" y="11" width="14" height="8" rx="4" fill={ink} opacity="0.55" />
    </g>
    <g transform="translate(236 262)">
      <rect width="312" height="72" rx="18" fill={white} opacity="0.16" />
      <rect x="22" y="21" width="240" height="9" rx="4.5" fill={white} opacity="0.9" />
      <rect x="22" y="43" width="150" height="9" rx="4.5" fill={white} opacity="0.5" />
    </g>
    <Speech x={92} y={372} width={396} height={156} face="#b7ebd0" lines={[120, 280]} />
    <g transform="translate(164 440)">
      <rect width="300" height="68" rx="10" fill="#1d2c6b" />
      <rect x="18" y="18" width="52" height="8" rx="4" fill="#d9a6ff" />
      <rect x="78" y="18" width="96" height="8" rx="4" fill={white} opacity="0.75" />
      <rect x="182" y="18" width="44" height="8" rx="4" fill="#f0b27a" />
      <rect x="34" y="42" width="78" height="8" rx="4" fill="#93d8a8" />
      <rect x="120" y="42" width="120" height="8" rx="4" fill={white} opacity="0.35" />
    </g>
    <g transform="translate(92 566)">
      <rect width="98" height="48" rx="18" fill={white} opacity="0.16" />
      <circle cx="31" cy="24" r="5" fill={white} />
      <circle cx="49" cy="24" r="5" fill={white} opacity="0.75" />
      <circle cx="67" cy="24" r="5" fill={white} opacity="0.5" />
    </g>
  </svg>
)
