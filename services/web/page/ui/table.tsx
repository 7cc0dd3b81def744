import type { ComponentChildren } from 'preact'
import { t } from '../texts/texts.ts'

interface TableProps {
  /** Of the columns. The last one may be left out: it is that of the actions. */
  heads: readonly string[]
  hasActions?: boolean
  /** Rows, each with as many cells. */
  children: ComponentChildren
}

/** Rows under their heads. A wide table scrolls by itself, not the page. */
export const Table = ({ heads, hasActions = false, children }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
  <div class="table-scroller" tabIndex={0}>
    <table class={hasActions ? 'table with-actions' : 'table'}>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
          {hasActions && (
            <th scope="col">
              <span class="visually-hidden">{t('Actions')}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)
