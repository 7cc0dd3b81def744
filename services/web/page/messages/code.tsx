import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { CopyButton } from './copy-button.tsx'
import type { CodePiece, CodeToHighlight } from './highlighter.ts'

/** A block with more lines than this is rendered in parts, and is not highlighted. */
const maxLines = 400
const linesOfPart = 100

/** It is loaded with the first code that has a language. */
let highlighter: typeof import('./highlighter.ts') | undefined

/** Null when the code is not highlighted, for instance because the highlighter cannot be loaded without a network. */
async function findPieces(code: CodeToHighlight): Promise<readonly CodePiece[] | null> {
  try {
    highlighter ??= await import('./highlighter.ts')
  } catch {
    return null
  }
  return highlighter.findPieces(code)
}

interface CodeProps {
  text: string
  language: string | null
  /** Returns the code to copy, when `text` is only its beginning. */
  whole?: (() => string) | undefined
}

/** A block of code. It is highlighted a moment later, which does not change the layout. */
export function Code({ text, language, whole = () => text }: CodeProps) {
  const parts = useMemo(() => partsOf(text), [text])
  return (
    <div class="code-block">
      {parts.length > 1 ? (
        <LongCode parts={parts} />
      ) : (
        // Another key removes the parts of the previous text, which may have been edited.
        <HighlightedCode key={`${language} ${text}`} text={text} language={language} />
      )}
      <CopyButton text={whole} />
    </div>
  )
}

function partsOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.length <= maxLines) return [text]
  return Array.from({ length: Math.ceil(lines.length / linesOfPart) }, (_, part) =>
    lines.slice(part * linesOfPart, (part + 1) * linesOfPart).join('\n'),
  )
}

/** The layout of thousands of lines is slow, so the browser lays out only the visible parts. */
const LongCode = ({ parts }: { parts: readonly string[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
  <pre tabIndex={0} dir="ltr">
    {parts.map((part, index) => (
      <code key={index} class="code-part">
        {index < parts.length - 1 ? `${part}\n` : part}
      </code>
    ))}
  </pre>
)

function HighlightedCode({ text, language }: { text: string; language: string | null }) {
  const pieces = useSignal(language === null ? null : (highlighter?.knownPieces({ language, text }) ?? null))
  useEffect(() => {
    if (language === null) return
    void findPieces({ language, text }).then((found) => {
      pieces.value = found
    })
  }, [])
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
