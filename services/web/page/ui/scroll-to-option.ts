/** A `ref` for the marked option of a list that scrolls: the option becomes visible. */
export const scrollToOption = (option: HTMLElement | null) => option?.scrollIntoView({ block: 'nearest' })
