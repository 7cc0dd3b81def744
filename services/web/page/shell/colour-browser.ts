import { effect } from '@preact/signals'
import { preferences } from '../app/preferences.ts'

/** The themes of the two `<meta name="theme-color">` of `index.html`. */
const themes = ['light', 'dark'] as const

/** Gives the bar of a phone above the page the colour of the chosen theme, which may differ from that of the system. */
export function colourBrowser(): () => void {
  const colours = document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')
  return effect(() => {
    const { theme } = preferences.value
    for (const [at, each] of themes.entries())
      colours[at]!.media = theme === 'system' ? `(prefers-color-scheme: ${each})` : theme === each ? 'all' : 'not all'
  })
}
