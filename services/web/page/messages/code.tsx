import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { findPieces, knownPieces } from './highlighter.ts'

/** A block of code. Its colours come a moment later and move nothing. */
export function Code({ text, language }: { text: string; language: string | null }) {
  const pieces = useSignal(language === null ? null : knownPieces({ language, text }))
  useEffect(() => {
    if (language === null) return
    let hasLeft = false
    void findPieces({ language, text }).then((found) => {
      if (!hasLeft) pieces.value = found
    })
    return () => {
      hasLeft = true
    }
  }, [language, text])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <pre tabIndex={0} dir="ltr">
      <code>
        {pieces.value?.map(([kind, part]) => (kind === null ? part : <span class={`code-${kind}`}>{part}</span>)) ??
          text}
      </code>
    </pre>
  )
}
