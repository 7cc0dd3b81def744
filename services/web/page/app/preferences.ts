import { effect, signal } from '@preact/signals'
import { type Language, languages, setLanguage, t } from '../texts/texts.ts'
import { reportStorageFailure, showProblem } from '../ui/problems.ts'
import { propertiesOf, readStoredValue } from '../ui/stored-value.ts'

export type Theme = 'system' | 'light' | 'dark'
export type Density = 'comfortable' | 'compact'
export type SidebarSection = 'favourites' | 'channels' | 'conversations'

interface Preferences {
  theme: Theme
  density: Density
  language: Language | 'system'
  /** Whether to show notifications of mentions and direct messages. They need the browser's permission too. */
  notifications: boolean
  /** Whether there are shortcuts of a single character. Speech input would press them by mistake. */
  characterKeys: boolean
  /** The sections of the sidebar that show only what is unread or open, and drafts. */
  collapsed: readonly SidebarSection[]
}

const key = 'parley.preferences'
const defaults: Preferences = {
  theme: 'system',
  density: 'comfortable',
  language: 'system',
  notifications: false,
  characterKeys: true,
  collapsed: [],
}

/** The preferences of this browser. They do not belong to the person. */
export const preferences = signal<Preferences>(defaults)

/** Reads the stored preferences. From then on they are applied to the page, also when another tab changes them. */
export function readPreferences(): Preferences {
  const read = () => {
    preferences.value = { ...defaults, ...known(readStoredValue(key)) }
  }
  read()
  addEventListener('storage', (event) => {
    if (event.key !== key) return
    read()
    showLanguage()
  })
  effect(() => {
    const { theme, density } = preferences.value
    const { dataset } = document.documentElement
    if (theme === 'system') delete dataset.theme
    else dataset.theme = theme
    dataset.density = density
  })
  return preferences.value
}

/** Changes some of the preferences, and stores them. */
export function changePreferences(changes: Partial<Preferences>) {
  preferences.value = { ...preferences.value, ...changes }
  try {
    localStorage.setItem(key, JSON.stringify(preferences.value))
  } catch (error) {
    reportStorageFailure(error)
  }
  showLanguage()
}

export const isCollapsed = (section: SidebarSection) => preferences.value.collapsed.includes(section)

export function toggleSection(section: SidebarSection) {
  const others = preferences.value.collapsed.filter((each) => each !== section)
  changePreferences({ collapsed: isCollapsed(section) ? others : [...others, section] })
}

function showLanguage() {
  const { language } = preferences.value
  if (language === 'system') return
  setLanguage(language).catch(() => showProblem(t('The server cannot be reached. Please try again')))
}

/** Keeps only values that this version knows, because another version may have stored others. */
function known(stored: unknown): Partial<Preferences> {
  const { theme, density, language, notifications, characterKeys, collapsed } = propertiesOf(stored)
  return {
    ...((theme === 'light' || theme === 'dark') && { theme }),
    ...(notifications === true && { notifications }),
    ...(characterKeys === false && { characterKeys }),
    ...(density === 'compact' && { density }),
    ...(Array.isArray(collapsed) && { collapsed }),
    ...(typeof language === 'string' && Object.hasOwn(languages, language) && { language: language as Language }),
  }
}
