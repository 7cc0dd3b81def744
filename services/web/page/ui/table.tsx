import type { ComponentChildren } from 'preact'
import { t } from '../texts/texts.ts'

interface TableProps {
  /** The headings of the columns. That of the last column, which has the actions, may be missing. */
  heads: readonly string[]
  hasActions?: boolean
  /** The rows, each with one cell for each column. */
  children: ComponentChildren
}

/** A table. If it is wide, only the table scrolls, not the page. */
export const Table = ({ heads, hasActions = false, children }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
  <section class="table-scroller" aria-label={t('Table')} tabIndex={0}>
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
  </section>
)

interface ListTableProps<T> extends Omit<TableProps, 'children'> {
  /** Undefined until the list is fetched. */
  list: readonly T[] | undefined
  /** The sentence that is shown instead of an empty table. */
  none: string
  /** Renders the row of one item. */
  children: (item: T) => ComponentChildren
}

/** A table of a list, or a sentence when the list is empty. Nothing is shown until the list is fetched. */
export const ListTable = <T,>({ list, none, children, ...table }: ListTableProps<T>) =>
  list &&
  (list.length === 0 ? <p class="quiet">{none}</p> : <Table {...table}>{list.map((item) => children(item))}</Table>)
