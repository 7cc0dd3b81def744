import { tell } from './problems.ts'

/** Puts a text into the clipboard. It is false when the browser does not do so; then the text is shown. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Without https, or without leave, the browser copies nothing: then the text itself has to do.
    tell(text)
    return false
  }
}
