import { useEffect, useState } from 'preact/hooks'

type Encode = typeof import('uqr')['encode']

/** A QR code of a text. It is dark on light in every theme, and has the margin that scanners need. It is empty until its library is loaded. */
export function QrCode({ text, name }: { text: string; name: string }) {
  const [encode, setEncode] = useState<Encode>()
  useEffect(() => {
    // If the library cannot be loaded, the person types the secret, which is shown beside the code.
    import('uqr').then((library) => setEncode(() => library.encode), reportError)
  }, [])
  if (!encode) return null
  const { data, size } = encode(text, { ecc: 'M', border: 4 })
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])))
  return (
    <svg
      role="img"
      aria-label={name}
      viewBox={`0 0 ${size} ${size}`}
      width={224}
      height={224}
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  )
}
