const isApple = /Mac|iPhone|iPad/.test(navigator.platform)

/** The key of shortcuts, by the name that stands on it. */
export const modifierKey = isApple ? '⌘' : 'Ctrl'
