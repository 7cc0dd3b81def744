import { sendPreferences } from '../app/place-preferences.ts'
import { repeatReads } from '../app/repeat-reads.ts'
import type { Workspace } from '../app/workspace.ts'
import { continueLists } from '../messages/continue-list.ts'
import { notifyOfMessages } from '../notifications/notify.ts'
import { cacheParts } from '../offline/cache-parts.ts'
import { pasteRichText } from '../paste/rich-text.ts'
import { watchSaved } from '../saved/watch-saved.ts'
import { watchThreads } from '../threads/watch-threads.ts'
import { closeByBack } from './close-by-back.ts'
import { colourBrowser } from './colour-browser.ts'
import { showCutTexts } from './cut-texts.ts'
import { markIconWhenUnread } from './mark-icon.ts'
import { openPeople } from './open-person.ts'
import { openPlaceMenus } from './place-menu.tsx'
import { rememberPlace } from './remember-place.ts'
import { retryEmojiAfterOutage } from './retry-emoji.ts'
import { showPresence } from './show-presence.ts'
import { typeAnywhere } from './type-anywhere.ts'

export { takeSnapshot } from '../offline/take-snapshot.ts'
export { UnlistedTexts } from './unlisted-texts.tsx'

/** Starts what runs beside the views of a signed-in person. Returns a function that ends it. */
export function startBackground(workspace: Workspace): () => void {
  const beginnings = [
    notifyOfMessages,
    watchThreads,
    watchSaved,
    markIconWhenUnread,
    showPresence,
    sendPreferences,
    repeatReads,
    rememberPlace,
    retryEmojiAfterOutage,
    typeAnywhere,
    continueLists,
    pasteRichText,
    openPeople,
    openPlaceMenus,
    showCutTexts,
    closeByBack,
    colourBrowser,
    cacheParts,
  ]
  const ends = beginnings.map((begin) => begin(workspace))
  return () => {
    for (const end of ends) end()
  }
}
