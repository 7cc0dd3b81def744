import { t } from '../texts/texts.ts'

/** Tells screen readers how many results are shown. Everybody sees that there are none. `count` is undefined while nothing is searched. */
export const ResultCount = ({ count }: { count: number | undefined }) => (
  <p role="status" class={count === 0 ? 'quiet' : 'visually-hidden'}>
    {count === 0 ? t('Nothing was found') : count !== undefined && t('Shown results: {count}', { count })}
  </p>
)
