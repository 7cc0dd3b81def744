import { t } from '../texts/texts.ts'
import { showNotice } from './notice.ts'
import { showProblem } from './problems.ts'

/** Copies a text to the clipboard. When the browser does not allow it, shows the text and returns false. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // The browser needs https and the permission. Without them, the text is shown so that the person can copy it.
    showProblem(text)
    return false
  }
}

/** Copies the link to a page of this server, given its address without the origin. */
export async function copyLink(address: string) {
  if (await copy(new URL(address, location.href).href)) showNotice(t('Link copied'))
}
